package activities_test

import (
	"context"
	"testing"

	"cairn/activities"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/service/distill"
)

type distillService struct {
	calls
	keys []string
}

func (s *distillService) Segment(_ context.Context, ref run.Ref) ([]string, error) {
	return s.keys, s.note("segment %s", of(ref))
}

func (s *distillService) Close(
	_ context.Context, ref run.Ref, attempt int, code, reason string,
) (distillation.Result, error) {
	return distillation.Result{Outcome: run.Completed, Tasks: 4, Created: 1, Updated: 2, Failed: 1},
		s.note("close %s %d %s %s", of(ref), attempt, code, reason)
}

func (s *distillService) Draft(_ context.Context, ref run.Ref, task string) (distill.Plan, bool, error) {
	return distill.Plan{Files: 3, Judge: true}, false, s.note("draft %s %s", of(ref), task)
}

func (s *distillService) Write(_ context.Context, ref run.Ref, task string) (bool, error) {
	return true, s.note("write %s %s", of(ref), task)
}

func (s *distillService) Judge(_ context.Context, ref run.Ref, task string) error {
	return s.note("judge %s %s", of(ref), task)
}

func (s *distillService) Compare(_ context.Context, ref run.Ref, task string) error {
	return s.note("compare %s %s", of(ref), task)
}

func (s *distillService) Publish(_ context.Context, ref run.Ref, task string) (distillation.CommitResult, error) {
	return distillation.CommitResult{Unseen: true, Compare: true, Conflict: true, Outcome: distillation.Updated,
		Skill:   3,
		Version: 4}, s.note("publish %s %s", of(ref), task)
}

func (s *distillService) Merge(_ context.Context, ref run.Ref, task string) error {
	return s.note("merge %s %s", of(ref), task)
}

func (s *distillService) EndTask(
	_ context.Context, ref run.Ref, attempt int, task, code, reason string,
) (distillation.Task, error) {
	return distillation.Task{Outcome: distillation.Failed, Skill: 3, Version: 4},
		s.note("end %s %d %s %s %s", of(ref), attempt, task, code, reason)
}

func (s *distillService) AwaitTask(_ context.Context, ref run.Ref, task string) error {
	return s.note("await %s %s", of(ref), task)
}

func TestDistillActivitiesTranslate(t *testing.T) {
	t.Parallel()
	s := &distillService{keys: []string{"a", "b"}}
	a, c := activities.Distill{Service: s}, &s.calls
	task := contract.TaskRef{RunRef: runRef, Task: "a"}
	translates(t, a.Segment, runRef, c, "segment 1/run_7", contract.SegmentResult{Tasks: []string{"a", "b"}})
	translates(t, a.Draft, task, c, "draft 1/run_7 a", contract.DraftResult{Files: 3, Judge: true})
	translates(t, a.WriteFiles, task, c, "write 1/run_7 a", contract.WriteResult{Degraded: true})
	calling(t, a.Judge, task, c, "judge 1/run_7 a")
	calling(t, a.Compare, task, c, "compare 1/run_7 a")
	calling(t, a.Merge, task, c, "merge 1/run_7 a")
	calling(t, a.AwaitTask, task, c, "await 1/run_7 a")
	translates(t, a.Publish, task, c, "publish 1/run_7 a",
		contract.PublishResult{Unseen: true, Compare: true, Conflict: true, Outcome: "updated", Skill: 3,
			Version: 4})
	translates(t, a.EndTask, contract.EndTaskInput{TaskRef: task, Code: "cancelled", Reason: "asked"}, c,
		"end 1/run_7 2 a cancelled asked", contract.TaskResult{Outcome: "failed", Skill: 3, Version: 4})
	translates(t, a.CloseRun, contract.CloseInput{RunRef: runRef, Code: "internal", Reason: "why"}, c,
		"close 1/run_7 2 internal why",
		contract.DistillResult{Outcome: string(run.Completed), Tasks: 4, Created: 1, Updated: 2, Failed: 1})
}

func TestARunWithoutTasksHasEnded(t *testing.T) {
	t.Parallel()
	a := activities.Distill{Service: &distillService{}}
	if out, err := execute(t, a.Segment, runRef); err != nil || !out.Ended {
		t.Errorf("%+v, %v", out, err)
	}
}
