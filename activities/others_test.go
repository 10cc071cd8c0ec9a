package activities

import (
	"context"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/library"
	"cairn/internal/service/offload"
	"cairn/internal/service/reflection"
)

type eraseService struct {
	calls
	ended bool
}

func (s *eraseService) Fence(_ context.Context, id int64) error        { return s.note("fence %d", id) }
func (s *eraseService) Stop(_ context.Context, id int64) error         { return s.note("stop %d", id) }
func (s *eraseService) Derived(_ context.Context, id int64) error      { return s.note("derived %d", id) }
func (s *eraseService) CountObjects(_ context.Context, id int64) error { return s.note("count %d", id) }
func (s *eraseService) Rows(_ context.Context, id int64) error         { return s.note("rows %d", id) }
func (s *eraseService) Objects(_ context.Context, id int64) error      { return s.note("objects %d", id) }

func (s *eraseService) End(_ context.Context, id int64) (erasure.Erasure, bool, error) {
	return erasure.Erasure{Deleted: map[string]int64{"a": 4, "b": 2}, Objects: 3, Workflows: 1}, s.ended,
		s.note("end %d", id)
}

func TestEraseActivitiesTranslate(t *testing.T) {
	t.Parallel()
	s := &eraseService{ended: true}
	a, c := Erase{Service: s}, &s.calls
	in := contract.EraseRef{Erasure: 5}
	calling(t, a.Fence, in, c, "fence 5")
	calling(t, a.Stop, in, c, "stop 5")
	calling(t, a.Derived, in, c, "derived 5")
	calling(t, a.Count, in, c, "count 5")
	calling(t, a.Rows, in, c, "rows 5")
	calling(t, a.Objects, in, c, "objects 5")
	translates(t, a.End, in, c, "end 5", contract.EraseResult{Ended: true, Rows: 6, Objects: 3, Workflows: 1})
	s.err = fault.New(fault.Unavailable, "away", "")
	_, err := execute(t, a.End, in)
	checkError(t, "end", err, string(fault.Unavailable), false, false, 0)
}

type offloadService struct{ calls }

func (s *offloadService) recorded() offload.CompactionResult {
	return offload.CompactionResult{Degraded: "unavailable", Records: []string{"a"}, Handles: []string{"b", "c"},
		Tokens: 40}
}

func (s *offloadService) Compress(_ context.Context, ref run.Ref, group int) (string, error) {
	return "model_invalid", s.note("compress %s %d", of(ref), group)
}

func (s *offloadService) Close(
	_ context.Context, ref run.Ref, reasons []string, code, why string,
) (offload.CompactionResult, error) {
	return s.recorded(), s.note("close %s %q %s %s", of(ref), reasons, code, why)
}

func (s *offloadService) Await(_ context.Context, ref run.Ref) (offload.CompactionResult, error) {
	return s.recorded(), s.note("await %s", of(ref))
}

func TestOffloadActivitiesTranslate(t *testing.T) {
	t.Parallel()
	s := &offloadService{}
	a, c := Offload{Service: s}, &s.calls
	want := contract.OffloadResult{Degraded: true, Groups: 2, Tokens: 40}
	translates(t, a.Compress, contract.GroupInput{RunRef: runRef, Group: 3}, c, "compress 1/run_7 3",
		contract.CompressResult{Reason: "model_invalid"})
	closing := contract.CloseOffloadInput{RunRef: runRef, Reasons: []string{"", "x"}, Code: "cancelled", Why: "asked"}
	translates(t, a.CloseOffload, closing, c, `close 1/run_7 ["" "x"] cancelled asked`, want)
	translates(t, a.AwaitOffload, runRef, c, "await 1/run_7", want)
}

type sweeper struct{ calls }

func (s *sweeper) Page(_ context.Context, claim string, rows int) (contract.SweepCounts, error) {
	return contract.SweepCounts{Looked: 4, More: true}, s.note("page %s %d", claim, rows)
}

type curator struct{ calls }

func (s *curator) Curate(_ context.Context, ws int64, dryRun bool) (library.CuratorReport, error) {
	changes := []library.SkillChange{{Action: library.Stale}, {Action: library.Archive}, {Action: library.Stale}}
	return library.CuratorReport{Changes: changes, Similar: make([]library.SimilarPair, 2)}, s.note("curate %d %t", ws,
		dryRun)
}

func TestSweepActivitiesTranslate(t *testing.T) {
	t.Parallel()
	s, k := &sweeper{}, &curator{}
	a := Sweep{Sweeper: s, Curator: k}
	translates(t, a.Page, contract.SweepPageInput{Claim: "r/0/1", Rows: 50}, &s.calls, "page r/0/1 50",
		contract.SweepCounts{Looked: 4, More: true})
	translates(t, a.Curate, contract.CurateInput{Workspace: 1}, &k.calls, "curate 1 false",
		contract.CurateResult{Staled: 2, Archived: 1, Similar: 2})
}

func TestReflectionActivitiesTranslate(t *testing.T) {
	t.Parallel()
	var c calls
	opened := reflection.OpenResult{Run: run.Run{Ref: run.Ref{Workspace: 1, Run: "run_7"}, Attempt: 2}}
	opened.Spec.Budget = agent.ForReflection()
	a := Reflect{
		Open: func(_ context.Context, in contract.ReflectionInput, id string) (reflection.OpenResult, error) {
			return opened, c.note("open %s %t", in.Date, id != "")
		},
		Distill: func(_ context.Context, ref run.Ref, key string) (contract.DistillDayResult, error) {
			day := contract.DistillDayResult{Distills: make([]contract.DistillToStart, 1)}
			return day, c.note("day %s %s", of(ref), key)
		},
	}
	want := contract.OpenReflectionResult{RunRef: runRef, Budget: agent.ForReflection()}
	in := contract.ReflectionInput{Workspace: "w1", Date: "2026-03-01"}
	translates(t, a.OpenReflection, in, &c, "open 2026-03-01 true", want)
	translates(t, a.DistillDay, runRef, &c, "day 1/run_7 w1",
		contract.DistillDayResult{Distills: make([]contract.DistillToStart, 1)})
}
