// Package activities are the steps of the workflows that touch the world. Each
// decodes, calls one use-case and encodes; each may be run again at any time.
package activities

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/distill"
)

// Distill are the activities of a distillation.
type Distill struct{ Service *distill.Service }

// RegisterMain makes w host the database steps.
func (a Distill) RegisterMain(w worker.ActivityRegistry) {
	register(w, contract.EndTask, a.EndTask)
	register(w, contract.AwaitTask, a.AwaitTask)
	register(w, contract.CloseRun, a.CloseRun)
}

// RegisterLLM makes w host the steps that call models and, beside the workflows
// that take them, those of the database.
func (a Distill) RegisterLLM(w worker.ActivityRegistry) {
	a.RegisterMain(w)
	register(w, contract.Chunk, a.Chunk)
	register(w, contract.Draft, a.Draft)
	register(w, contract.WriteFiles, a.WriteFiles)
	register(w, contract.Judge, a.Judge)
	register(w, contract.Merge, a.Merge)
}

// RegisterBatch makes w host the steps that compute.
func (a Distill) RegisterBatch(w worker.ActivityRegistry) {
	register(w, contract.Publish, a.Publish)
}

func register(w worker.ActivityRegistry, name string, fn any) {
	w.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
}

// Chunk picks a run up, asks the gate and divides its conversation into tasks.
func (a Distill) Chunk(ctx context.Context, in contract.RunRef) (contract.Chunked, error) {
	defer beat(ctx)()
	keys, err := a.Service.Chunk(ctx, ref(in))
	return contract.Chunked{Tasks: keys, Ended: len(keys) == 0}, temporalError(err)
}

// Draft finds the skills that a task may belong to and makes its draft.
func (a Distill) Draft(ctx context.Context, in contract.TaskRef) (contract.Drafted, error) {
	defer beat(ctx)()
	plan, ended, err := a.Service.Draft(ctx, ref(in.RunRef), in.Task)
	return contract.Drafted{Ended: ended, Scripts: plan.Scripts, Docs: plan.Docs, Judge: plan.Judge}, temporalError(err)
}

// WriteFiles writes a task's scripts, or one of its documents.
func (a Distill) WriteFiles(ctx context.Context, in contract.WriteInput) (contract.Written, error) {
	defer beat(ctx)()
	degraded, err := a.Service.Write(ctx, ref(in.RunRef), in.Task, in.Doc)
	return contract.Written{Degraded: degraded}, temporalError(err)
}

// Judge has a task's draft judged.
func (a Distill) Judge(ctx context.Context, in contract.TaskRef) error {
	defer beat(ctx)()
	return temporalError(a.Service.Judge(ctx, ref(in.RunRef), in.Task))
}

// Publish renders, zips and uploads a task's version, and moves the skill's head to
// it.
func (a Distill) Publish(ctx context.Context, in contract.TaskRef) (contract.Published, error) {
	c, unseen, err := a.Service.Publish(ctx, ref(in.RunRef), in.Task)
	return contract.Published{Packaged: contract.Packaged{Unseen: unseen}, Committed: committed(c)}, temporalError(err)
}

// Merge joins a task's draft with a head that its model has not seen.
func (a Distill) Merge(ctx context.Context, in contract.TaskRef) error {
	defer beat(ctx)()
	return temporalError(a.Service.Merge(ctx, ref(in.RunRef), in.Task))
}

func committed(c distill.Committed) contract.Committed {
	return contract.Committed{Conflict: c.Conflict, Outcome: string(c.Outcome), Skill: c.Skill, Version: c.Version}
}

// EndTask ends a task that no commit ended.
func (a Distill) EndTask(ctx context.Context, in contract.EndTaskInput) (contract.TaskResult, error) {
	t, err := a.Service.EndTask(ctx, ref(in.RunRef), in.Attempt, in.Task, in.Code, in.Reason)
	return contract.TaskResult{Outcome: string(t.Outcome), Skill: t.Skill, Version: t.Version}, temporalError(err)
}

// AwaitTask returns when a task has ended.
func (a Distill) AwaitTask(ctx context.Context, in contract.TaskRef) error {
	return temporalError(a.Service.AwaitTask(ctx, ref(in.RunRef), in.Task))
}

// CloseRun ends a run and adds up its tasks.
func (a Distill) CloseRun(ctx context.Context, in contract.CloseInput) (contract.DistillResult, error) {
	r, err := a.Service.Close(ctx, ref(in.RunRef), in.Attempt, in.Code, in.Reason)
	return contract.DistillResult{Outcome: string(r.Outcome), Tasks: r.Tasks, Created: r.Created, Updated: r.Updated, Failed: r.Failed}, temporalError(err)
}

func ref(in contract.RunRef) run.Ref { return run.Ref{Workspace: in.Workspace, Run: in.Run} }
