package relay_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/modelcall"
	"cairn/internal/domain/run"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestACallWhoseHolderDiedBecomesUnknown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.accept("k")
	for _, step := range []string{"dead", "alive", "just now"} {
		_, err := b.Store.BeginCall(t.Context(),
			modelcall.Request{Key: run.CallKey{Ref: r.Ref, Step: step}, Holder: uuid.New(), Lease: time.Hour,
				Request: llm.PreparedRequest{Model: "m", Body: []byte("{}")}})
		testkit.Must(t, err)
	}
	exec(t, b.admin, "update llm_calls set lease_until = now() - interval '2 minutes' where step = 'dead'")
	// its retry is about to come
	exec(t, b.admin, "update llm_calls set lease_until = now() - interval '1 second' where step = 'just now'")
	for range 2 {
		testkit.Must(t, b.Tidy(t.Context()))
	}
	b.in(func(ctx context.Context, q store.Tx) error {
		calls, err := q.Calls().Calls(ctx, r.Ref)
		for _, c := range calls {
			want, unknown := run.CallStarted, 0
			if c.Key.Step == "dead" {
				want, unknown = run.CallUnknown, 1
			}
			if c.State != want || c.Unknown != unknown {
				t.Errorf("%s: %+v, want %s and %d unknown", c.Key.Step, c, want, unknown)
			}
		}
		return err
	})
	ticket, err := b.Store.BeginCall(t.Context(),
		modelcall.Request{Key: run.CallKey{Ref: r.Ref, Step: "dead"}, Holder: uuid.New(), Lease: time.Hour,
			Request: llm.PreparedRequest{Model: "m", Body: []byte("{}")}})
	if err != nil || ticket.Verdict != modelcall.Send {
		t.Errorf("a retry after that: %+v, %v", ticket, err)
	}
	if n := scan[int](t, b.admin, "select unknown from llm_calls where step = 'dead'"); n != 1 {
		t.Errorf("%d unknown after the retry took over, want the one that was counted", n)
	}
}

// Case E11: packages that no version uses.

func sha(name string) [32]byte { return sha256.Sum256([]byte(name)) }

// touch records a package as an upload does.
func (b *bundle) touch(names ...string) {
	b.t.Helper()
	b.in(func(ctx context.Context, q store.Tx) error {
		for _, n := range names {
			testkit.Must(b.t, q.Packages().TouchPackage(ctx, sha(n), "key/"+n, 1))
		}
		return nil
	})
}

// later lets packages grow older than their grace.
func (b *bundle) later(names ...string) {
	b.t.Helper()
	for _, n := range names {
		s := sha(n)
		exec(b.t, b.admin, "update packages set touched_at = touched_at - interval '2 minutes' where sha256 = $1", s[:])
	}
}

// state returns the state of a package, "" if it was deleted.
func (b *bundle) state(name string) string {
	b.t.Helper()
	s := sha(name)
	return scan[string](b.t, b.admin, "select coalesce((select state from packages where sha256 = $1), '')", s[:])
}

func (b *bundle) tidy() { b.t.Helper(); testkit.Must(b.t, b.Tidy(b.t.Context())) }

func TestAnUnusedPackageIsCondemnedAndThenDeletedWithItsObject(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.touch("x")
	expect := func(when, state string, removed ...string) {
		t.Helper()
		b.tidy()
		if got := b.state("x"); got != state || !slices.Equal(b.removed.list(), removed) {
			t.Errorf("%s: state %q, removed %v; want %q, %v", when, got, b.removed.list(), state, removed)
		}
	}
	expect("fresh", "pending")
	b.later("x")
	expect("after its grace", "condemned")
	expect("at once again", "condemned")
	b.later("x")
	expect("a grace later", "", "key/x")
	b.touch("x")
	expect("uploaded again", "pending", "key/x")
}

func TestATouchedPackageIsKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.touch("x", "y")
	b.later("x", "y")
	b.touch("x")
	b.tidy()
	if b.state("x") != "pending" || b.state("y") != "condemned" {
		t.Errorf("touched %q, untouched %q", b.state("x"), b.state("y"))
	}
	b.touch("y") // used again before its deletion
	b.later("x")
	b.tidy()
	b.later("y")
	if b.state("y") != "pending" || len(b.removed.list()) != 0 {
		t.Errorf("condemned and touched again: %q, removed %v", b.state("y"), b.removed.list())
	}
}

func TestALivePackageIsNeverCollected(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.touch("live", "referenced")
	exec(t, b.admin, "update packages set state = 'live' where key = 'key/live'")
	// A row that a version refers to, in a state that it should not be in.
	exec(t, b.admin, `with skill as (insert into skills (workspace_id, name, head_version, origin) values ($1, 's', `+
		`1, 'distill') returning id)
insert into skill_versions (workspace_id, skill_id, version, base_version, display_name, description, body, lang, `+
		`content_sha256, package_sha256, origin)
select $1, id, 1, 0, 's', 's', 's', 'en', '', sha256('referenced'), 'distill' from skill`, b.ws.ID)
	for range 3 {
		b.later("live", "referenced")
		b.tidy()
	}
	exec(t, b.admin, "update packages set state = 'condemned' where key = 'key/referenced'")
	b.later("referenced")
	b.tidy()
	if b.state("live") != "live" || b.state("referenced") != "condemned" || len(b.removed.list()) != 0 {
		t.Errorf("live %q, referenced %q, removed %v", b.state("live"), b.state("referenced"), b.removed.list())
	}
}

// An upload of the same bytes during their deletion fails and succeeds after it.
func TestAnUploadIsRefusedDuringTheDeletionOfTheSameBytes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.touch("x")
	b.later("x")
	b.tidy()
	b.later("x")
	touch := func(ctx context.Context) error {
		return b.Store.InWorkspace(ctx, b.ws.ID, func(ctx context.Context, q store.Tx) error {
			return q.Packages().TouchPackage(ctx, sha("x"), "key/x", 1)
		})
	}
	b.Remove = func(ctx context.Context, key string) error {
		if err := touch(ctx); fault.CodeOf(err) != fault.Unavailable {
			t.Errorf("recorded during the deletion: %v", err)
		}
		return b.removed.remove(ctx, key)
	}
	b.tidy()
	testkit.Must(t, touch(t.Context()))
	if b.state("x") != "pending" || len(b.removed.list()) != 1 {
		t.Errorf("state %q, removed %v", b.state("x"), b.removed.list())
	}
}

func TestAnObjectThatCannotBeDeletedKeepsItsRowAndNobodyElses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var names []string
	for i := range 5 {
		names = append(names, fmt.Sprint(i))
	}
	b.touch(names...)
	b.later(names...)
	b.tidy()
	b.later(names...)
	b.later("0") // first in line
	b.removed.fail = "key/0"
	if err := b.Tidy(t.Context()); err == nil {
		t.Error("the failure was swallowed")
	}
	if b.state("0") != "deleting" || len(b.removed.list()) != 4 {
		t.Errorf("state %q, removed %v", b.state("0"), b.removed.list())
	}
	b.removed.fail = ""
	b.later("0")
	b.tidy()
	if b.state("0") != "" || len(b.removed.list()) != 5 {
		t.Errorf("afterwards: state %q, removed %v", b.state("0"), b.removed.list())
	}
}
