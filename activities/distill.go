// Package activities contains the Temporal activities. Each one decodes its input, calls one
// service method, and encodes the result. Every activity is idempotent.
package activities

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/service/distill"
)

// DistillService distills conversations.
type DistillService interface {
	Segment(ctx context.Context, ref run.Ref) ([]string, error)
	Close(ctx context.Context, ref run.Ref, attempt int, code, reason string) (distillation.Result, error)
	DistillTaskService
}

// DistillTaskService processes one task of a conversation.
type DistillTaskService interface {
	Draft(ctx context.Context, ref run.Ref, task string) (plan distill.Plan, ended bool, err error)
	Write(ctx context.Context, ref run.Ref, task string) (degraded bool, err error)
	Judge(ctx context.Context, ref run.Ref, task string) error
	Publish(ctx context.Context, ref run.Ref, task string) (distillation.CommitResult, error)
	Compare(ctx context.Context, ref run.Ref, task string) error
	Merge(ctx context.Context, ref run.Ref, task string) error
	EndTask(ctx context.Context, ref run.Ref, attempt int, task, code, reason string) (distillation.Task, error)
	AwaitTask(ctx context.Context, ref run.Ref, task string) error
}

// Distill are the activities of a distillation.
type Distill struct{ Service DistillService }

// RegisterMain registers the database steps with w.
func (a Distill) RegisterMain(w worker.ActivityRegistry) {
	register(w, contract.EndTask, a.EndTask)
	register(w, contract.AwaitTask, a.AwaitTask)
	register(w, contract.CloseRun, a.CloseRun)
}

// RegisterLLM registers the steps that call models, and the database steps of the workflows on the
// same queue.
func (a Distill) RegisterLLM(w worker.ActivityRegistry) {
	a.RegisterMain(w)
	register(w, contract.Segment, a.Segment)
	register(w, contract.Draft, a.Draft)
	register(w, contract.WriteFiles, a.WriteFiles)
	register(w, contract.Judge, a.Judge)
	register(w, contract.Compare, a.Compare)
	register(w, contract.Merge, a.Merge)
}

// RegisterBatch registers the steps that compute.
func (a Distill) RegisterBatch(w worker.ActivityRegistry) {
	register(w, contract.Publish, a.Publish)
}

func register(w worker.ActivityRegistry, name string, fn any) {
	w.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
}

// Segment starts a run, checks the gate and divides the conversation into tasks.
func (a Distill) Segment(ctx context.Context, in contract.RunRef) (contract.SegmentResult, error) {
	defer heartbeat(ctx)()
	keys, err := a.Service.Segment(ctx, ref(in))
	return contract.SegmentResult{Tasks: keys, Ended: len(keys) == 0}, temporalError(err)
}

// Draft finds the skills related to a task and writes its draft.
func (a Distill) Draft(ctx context.Context, in contract.TaskRef) (contract.DraftResult, error) {
	defer heartbeat(ctx)()
	plan, ended, err := a.Service.Draft(ctx, ref(in.RunRef), in.Task)
	return contract.DraftResult{Ended: ended, Files: plan.Files, Judge: plan.Judge}, temporalError(err)
}

// WriteFiles writes a task's scripts and documents.
func (a Distill) WriteFiles(ctx context.Context, in contract.TaskRef) (contract.WriteResult, error) {
	defer heartbeat(ctx)()
	degraded, err := a.Service.Write(ctx, ref(in.RunRef), in.Task)
	return contract.WriteResult{Degraded: degraded}, temporalError(err)
}

// Judge scores a task's draft.
func (a Distill) Judge(ctx context.Context, in contract.TaskRef) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.Judge(ctx, ref(in.RunRef), in.Task))
}

// Compare asks whether a task's update is better than the version in force.
func (a Distill) Compare(ctx context.Context, in contract.TaskRef) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.Compare(ctx, ref(in.RunRef), in.Task))
}

// Publish renders, packages and uploads a task's version, and makes it the head of the skill.
func (a Distill) Publish(ctx context.Context, in contract.TaskRef) (contract.PublishResult, error) {
	c, err := a.Service.Publish(ctx, ref(in.RunRef), in.Task)
	return contract.PublishResult{
		Unseen:   c.Unseen,
		Compare:  c.Compare,
		Conflict: c.Conflict,
		Outcome:  string(c.Outcome),
		Skill:    c.Skill,
		Version:  c.Version,
	}, temporalError(err)
}

// Merge joins a task's draft with a newer head.
func (a Distill) Merge(ctx context.Context, in contract.TaskRef) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.Merge(ctx, ref(in.RunRef), in.Task))
}

// EndTask ends a task that has no commit.
func (a Distill) EndTask(ctx context.Context, in contract.EndTaskInput) (contract.TaskResult, error) {
	t, err := a.Service.EndTask(ctx, ref(in.RunRef), in.Attempt, in.Task, in.Code, in.Reason)
	return contract.TaskResult{Outcome: string(t.Outcome), Skill: t.Skill, Version: t.Version}, temporalError(err)
}

// AwaitTask returns when a task has ended.
func (a Distill) AwaitTask(ctx context.Context, in contract.TaskRef) error {
	return temporalError(a.Service.AwaitTask(ctx, ref(in.RunRef), in.Task))
}

// CloseRun closes a run and counts the results of its tasks.
func (a Distill) CloseRun(ctx context.Context, in contract.CloseInput) (contract.DistillResult, error) {
	r, err := a.Service.Close(ctx, ref(in.RunRef), in.Attempt, in.Code, in.Reason)
	return contract.DistillResult{
		Outcome: string(r.Outcome), Tasks: r.Tasks, Created: r.Created, Updated: r.Updated, Failed: r.Failed,
	}, temporalError(err)
}

func ref(in contract.RunRef) run.Ref { return run.Ref{Workspace: in.Workspace, Run: in.Run} }
