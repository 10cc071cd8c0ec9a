package e2e_test

import (
	"context"
	"errors"
	"testing"

	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/distill"
	"cairn/internal/testkit"
)

var errCut = errors.New("cut off")

// intercepted returns the distillation of a worker whose transactions go through around.
func (p *protocol) intercepted(around func(run func() error) error) *distill.Service {
	p.t.Helper()
	ports := p.App.Distill.Ports
	ports.Store = ports.Store.Intercept(func(_ context.Context, run func() error) error { return around(run) })
	s := distill.New(ports)
	return s
}

// overtaken returns the distillation of a worker in which first runs between the upload of a package and its
// commit. If first fails, so does the commit.
func (p *protocol) overtaken(first func() error) *distill.Service {
	p.t.Helper()
	before := true
	return p.intercepted(func(run func() error) error {
		if before && len(packed(p.t, p)) > 0 { // the commit is the first transaction after the upload
			before = false
			if err := first(); err != nil {
				return err
			}
		}
		return run()
	})
}

// divided returns a run with one task whose workflow has not started.
func (p *protocol) divided() (run.Ref, string) {
	p.t.Helper()
	p.ScriptR1()
	r := p.Accept(apptest.C1())
	divided, err := p.App.Distill.Segment(p.t.Context(), pgtest.RunRef(r.Ref))
	testkit.Must(p.t, err)
	if len(divided.Tasks) != 1 {
		p.t.Fatalf("divided into %q", divided.Tasks)
	}
	return r.Ref, divided.Tasks[0]
}

// If a step of a draft is interrupted at any point, the next attempt resumes from stored state.
func TestADraftThatIsCutOffIsPaidOnce(t *testing.T) {
	t.Parallel()
	p := openProtocol(t)
	ref, key := p.divided()
	for cut := range 2 { // before anything; with nothing recalled
		done := 0
		s := p.intercepted(func(run func() error) error {
			if done == cut {
				return errCut
			}
			done++
			return run()
		})
		if _, err := s.Draft(t.Context(), pgtest.TaskRef(ref, key)); !errors.Is(err, errCut) {
			t.Fatalf("cut off after %d transactions: %v", cut, err)
		}
	}
	p.asked("segment 1")
	for range 2 { // the second finds the first one's draft
		plan, err := p.App.Distill.Draft(t.Context(), pgtest.TaskRef(ref, key))
		if err != nil || plan.Ended || plan.Files == 0 {
			t.Fatalf("drafted %+v: %v", plan, err)
		}
	}
	p.asked("segment 1, extract 1")
}

// A draft without a reply does not divide the conversation again.
func TestADraftIsAskedForAgainWithTheTasksThatWerePaid(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	p := openProtocol(t)
	p.Model.On(openaitest.Rule{Stage: "extract", Status: 503, Times: 1})
	p.ScriptR1()
	if r := p.Distill(apptest.C1()); r.Outcome != run.Completed || p.Model.Count("segment") != 1 ||
		p.Model.Count("extract") != 2 {
		t.Errorf("ended as %q after %d requests for the tasks and %d for the draft", r.Outcome,
			p.Model.Count("segment"), p.Model.Count("extract"))
	}
}

// If a task is erased during packaging, no files remain.
func TestNothingIsUploadedForATaskThatIsGone(t *testing.T) {
	t.Parallel()
	p := openProtocol(t)
	ref, key := p.divided()
	_, err := p.App.Distill.Draft(t.Context(), pgtest.TaskRef(ref, key))
	testkit.Must(t, err)
	gone := func() error {
		for _, table := range []string{"distill_files", "distill_tasks"} {
			_, err := p.admin.Exec(t.Context(), "delete from "+table+" where run_id = $1", ref.Run)
			testkit.Must(t, err)
		}
		return nil
	}
	if c, err := p.overtaken(gone).Publish(t.Context(), pgtest.TaskRef(ref, key)); err != nil || !c.Conflict {
		t.Errorf("published %+v: %v", c, err)
	}
	if left := packed(t, p); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
