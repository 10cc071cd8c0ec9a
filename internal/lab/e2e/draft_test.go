package e2e_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/distill"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// cutStore is a store that fails after some transactions, as if the worker had died.
type cutStore struct {
	*store.Store
	left int
}

var errCut = errors.New("cut off")

func (s *cutStore) Within(ctx context.Context, ws int64, fn func(context.Context, store.Tx) error) error {
	if s.left == 0 {
		return errCut
	}
	s.left--
	return s.Store.InWorkspaceByKeys(ctx, ws, fn)
}

// divided returns a run with one task whose workflow has not started.
func (p *protocol) divided() (run.Ref, string) {
	p.t.Helper()
	p.ScriptR1()
	r := p.Accept(apptest.C1())
	keys, err := p.App.Distill.Segment(p.t.Context(), r.Ref)
	testkit.Must(p.t, err)
	if len(keys) != 1 {
		p.t.Fatalf("divided into %q", keys)
	}
	return r.Ref, keys[0]
}

// If a step of a draft is interrupted at any point, the next attempt resumes from stored state.
func TestADraftThatIsCutOffIsPaidOnce(t *testing.T) {
	t.Parallel()
	p := openProtocol(t)
	ref, key := p.divided()
	for cut := range 2 { // before anything; with nothing recalled
		s := &distill.Service{Ports: distill.Ports{
			Store:    &cutStore{p.App.Distill.Store, cut},
			Ledger:   p.App.Distill.Ledger,
			Embedder: p.App.Distill.Embedder,
			Models:   p.App.Distill.Models,
			Space:    p.App.Distill.Space,
			Blobs:    p.App.Distill.Blobs,
		}}
		if _, _, err := s.Draft(t.Context(), ref, key); !errors.Is(err, errCut) {
			t.Fatalf("cut off after %d transactions: %v", cut, err)
		}
	}
	p.asked("segment 1")
	for range 2 { // the second finds the first one's draft
		plan, ended, err := p.App.Distill.Draft(t.Context(), ref, key)
		if err != nil || ended || plan.Files == 0 {
			t.Fatalf("drafted %+v, ended %t: %v", plan, ended, err)
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

// overtakenStore runs a function between the upload of a package and its commit.
type overtakenStore struct {
	*store.Store
	first func()
}

func (s *overtakenStore) CommitVersion(ctx context.Context, t distillation.Task,
	c distillation.Commit) (distillation.CommitResult,
	error) {
	s.first()
	return s.Store.CommitVersion(ctx, t, c)
}

// If a task is erased during packaging, no files remain.
func TestNothingIsUploadedForATaskThatIsGone(t *testing.T) {
	t.Parallel()
	p := openProtocol(t)
	ref, key := p.divided()
	_, _, err := p.App.Distill.Draft(t.Context(), ref, key)
	testkit.Must(t, err)
	gone := func() {
		for _, table := range []string{"distill_files", "distill_tasks"} {
			_, err := p.admin.Exec(t.Context(), "delete from "+table+" where run_id = $1", ref.Run)
			testkit.Must(t, err)
		}
	}
	s := &distill.Service{Ports: distill.Ports{
		Store:    &overtakenStore{p.App.Distill.Store, gone},
		Ledger:   p.App.Distill.Ledger,
		Embedder: p.App.Distill.Embedder,
		Models:   p.App.Distill.Models,
		Space:    p.App.Distill.Space,
		Blobs:    p.App.Distill.Blobs,
	}}
	if c, err := s.Publish(t.Context(), ref, key); err != nil || !c.Conflict {
		t.Errorf("published %+v: %v", c, err)
	}
	for path := range tree(t, p.Packages) {
		if strings.HasSuffix(path, ".zip") || strings.HasSuffix(path, ".md") {
			t.Errorf("there is %s", path)
		}
	}
}
