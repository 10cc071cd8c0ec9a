package vectorspace_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/service/vectorspace"
	"cairn/internal/testkit"
)

// codeOf returns the code of an error, also of an endpoint.
func codeOf(err error) fault.Code {
	var model *llm.Error
	if errors.As(err, &model) {
		return model.Fault().Code
	}
	return fault.CodeOf(err)
}

func TestStartLeadsToTheConfiguredSpace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	to, err := b.Start(t.Context(), b.db.B, vectorspace.Options{Rate: 50})
	testkit.Must(t, err)
	if !to.Running || len(b.starter.started) != 1 { // it uses the old space
		t.Errorf("%+v", to)
	}
	b.db.Exec("update workspaces set space_id = null where id = $1", b.db.B.ID)
	if to, err := b.Start(t.Context(), b.db.B, vectorspace.Options{}); err != nil || to.Running {
		t.Errorf("an empty workspace: %+v, %v", to, err)
	}
	b.starter.started = nil
	to, err = b.Start(t.Context(), b.db.A, vectorspace.Options{Rate: 50})
	testkit.Must(t, err)
	want := []contract.ReembedInput{{ReembedRef: b.ref, Rate: 50}}
	if to.Space != b.to.ID || to.Model != b.to.Model || !to.Running || !slices.Equal(b.starter.started, want) {
		t.Errorf("to %+v, started %+v", to, b.starter.started)
	}
	for _, rate := range []int{-1, vectorspace.MaxRate + 1} {
		if _, err := b.Start(t.Context(), b.db.A, vectorspace.Options{Rate: rate}); fault.CodeOf(err) !=
			fault.InvalidArgument {
			t.Errorf("rate %d: %v", rate, err)
		}
	}
	b.Starter = nil
	if _, err := b.Start(t.Context(), b.db.A, vectorspace.Options{}); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("without Temporal: %v", err)
	}
}

func TestARollbackNeedsThePreviousSpaceAndItsModel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.many(3)
	back := vectorspace.Options{Rollback: true}
	if _, err := b.Start(t.Context(), b.db.A, back); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("before a re-embedding: %v", err)
	}
	b.begin()
	b.batches()
	b.change(false)
	b.write("new")
	to, err := b.Start(t.Context(), b.db.A, back)
	if err != nil || to.Space != b.old.ID {
		t.Fatalf("to %+v, %v", to, err)
	}
	b.ref.Space = b.old.ID
	b.begin()
	if sizes := b.batches(); len(sizes) != 0 || !b.change(false) {
		t.Errorf("embedded %v documents", sizes)
	}
	if n := b.db.Number("select space_id from workspaces where id = $1", b.db.A.ID); n != int(b.old.ID) {
		t.Errorf("uses space %d", n)
	}

	lost, err := b.db.Space(t.Context(), "lost", 8)
	testkit.Must(t, err)
	b.db.Exec("update workspaces set previous_space_id = $1", lost)
	_, err = b.Start(t.Context(), b.db.A, back)
	if hint := fault.From(err).Hint; fault.CodeOf(err) != fault.Misconfigured ||
		!strings.Contains(hint, `CAIRN_EMBEDDING_PREVIOUS_MODEL to "lost"`) {
		t.Errorf("without an embedder: %v, hint %q", err, hint)
	}
	b.db.Exec("update workspaces set previous_until = now() - interval '1 minute'")
	if _, err := b.Start(t.Context(), b.db.A, back); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("after 7 days: %v", err)
	}
}

func TestOneReembeddingOfAWorkspaceRunsAtATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.begin()
	b.db.Exec("update workspaces set previous_space_id = $1, previous_until = now() + interval '1 day'", b.old.ID)
	if _, err := b.Start(t.Context(), b.db.A, vectorspace.Options{Rollback: true}); fault.CodeOf(err) !=
		fault.AlreadyExists {
		t.Errorf("started a second: %v", err)
	}
	other := contract.ReembedInput{ReembedRef: b.ref}
	other.Space = b.old.ID
	if err := b.Begin(t.Context(), other); fault.CodeOf(err) != fault.AlreadyExists {
		t.Errorf("began a second: %v", err)
	}
	if _, err := b.Start(t.Context(), b.db.A, vectorspace.Options{}); err != nil {
		t.Errorf("the same again: %v", err)
	}
	testkit.Must(t, b.Mark(t.Context(), contract.ReembedMarkInput{ReembedRef: b.ref, State: vectorspace.Failed,
		Reason: "no"}))
	if r := b.status().Reembed; r.State != vectorspace.Failed || r.Reason != "no" {
		t.Errorf("%+v", r)
	}
	testkit.Must(t, b.Begin(t.Context(), other))
}

func TestEachVisitsAllWorkspaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var names []string
	testkit.Must(t, b.Each(t.Context(), func(ws access.Workspace) error {
		names = append(names, ws.Name)
		return nil
	}))
	failed := errors.New("failed")
	err := b.Each(t.Context(), func(access.Workspace) error { return failed })
	if !slices.Equal(names, []string{"a", "b"}) || !errors.Is(err, failed) {
		t.Errorf("%v, %v", names, err)
	}
}

func TestARunningReembeddingIsSteered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if err := b.Steer(t.Context(), b.db.A, contract.PauseReembed); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("none has been started: %v", err)
	}
	b.begin()
	if err := b.Steer(t.Context(), b.db.A, contract.PauseReembed); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("none is running: %v", err)
	}
	b.starter.running = true
	testkit.Must(t, b.Steer(t.Context(), b.db.A, contract.CancelReembed))
	if want := "cancel " + contract.ReembedID(b.db.A.Key, b.to.ID); b.starter.steered[1] != want {
		t.Errorf("steered %q", b.starter.steered)
	}
}
