package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/lab/apptest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// A bank that follows a shared bank has its skills, overridden by the workspace's own. It
// receives new skills and shares none.
func TestABankFollowsASharedOne(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t, offlineRules)
	ctx := t.Context()
	shared, err := b.Store.Workspace(ctx, bank.SharedWorkspace, true)
	testkit.Must(t, err)
	follow := func() bank.Head {
		t.Helper()
		out, err := b.Learning.Banks.Follow(ctx, bank.FollowRequest{Workspace: b.Workspace.ID, Shared: shared.ID})
		testkit.Must(t, err)
		return out
	}
	takes := func(ws int64, name, description string) bank.Head {
		t.Helper()
		out, err := b.Learning.Banks.Import(ctx, ws, bank.Default, skillFile(name, description))
		testkit.Must(t, err)
		return out
	}
	says := func(h bank.Head, name string) string {
		v, _ := h.Bank.Get(name)
		return v.Skill.Description
	}
	if _, err := b.Learning.Banks.Follow(ctx,
		bank.FollowRequest{Workspace: b.Workspace.ID, Shared: shared.ID}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("without a shared bank: %v", err)
	}
	takes(shared.ID, "capture_dates", "Adds dates that were told.")
	takes(shared.ID, "capture_places", "Adds places that were told.")
	_, err = b.Learning.Cases.Import(ctx, shared.ID, "", lessons(4))
	testkit.Must(t, err)

	first := follow()
	if first.Head != 2 || first.Bank.Len() != 12 || says(first, "capture_dates") != "Adds dates that were told." ||
		!strings.Contains(first.Version.Reason, "version 3") {
		t.Fatalf("%+v", first.Version)
	}
	if again := follow(); again.Head != first.Head {
		t.Errorf("without news there is version %d", again.Head)
	}
	takes(b.Workspace.ID, "capture_dates", "Adds dates of Vera's orchard alone.") // refined here
	takes(b.Workspace.ID, "capture_orchard", "Adds what Vera tells of her orchard.")
	takes(shared.ID, "capture_dates", "Adds dates, those of plans too.") // and there
	takes(shared.ID, "capture_places", "Adds places, with their country.")
	takes(shared.ID, "capture_names", "Adds names of people.")
	before := rowsOf(b, shared.ID)
	second := follow()
	for name, want := range map[string]string{"capture_dates": "Adds dates of Vera's orchard alone.",
		"capture_orchard": "Adds what Vera tells of her orchard.", "capture_places": "Adds places, with their country.",
		"capture_names": "Adds names of people."} {
		if got := says(second, name); got != want {
			t.Errorf("%s says %q, want %q", name, got, want)
		}
	}
	if second.Bank.Len() != 14 {
		t.Errorf("%d skills", second.Bank.Len())
	}
	if after := rowsOf(b, shared.ID); !slices.Equal(before, after) || strings.Contains(fmt.Sprint(after), "orchard") {
		t.Errorf("the shared workspace has changed: %q, then %q", before, after)
	}
	// Following gives no access: the shared bank and its evidence stay invisible to the
	// workspace.
	testkit.Must(t, b.Store.InWorkspace(ctx, b.Workspace.ID, func(ctx context.Context, q store.Tx) error {
		known, err := q.Cases().KnownCases(ctx, second.ID)
		if err == nil && len(known) != 0 {
			t.Errorf("%d questions of another workspace are seen", len(known))
		}
		return err
	}))
	back, err := b.Learning.Banks.Rollback(ctx, b.Workspace.ID, bank.Default, first.Head)
	testkit.Must(t, err)
	if back.Snapshot() != first.Snapshot() {
		t.Error("a rollback does not lead back")
	}
	if _, err := b.Learning.Banks.Follow(ctx,
		bank.FollowRequest{Workspace: shared.ID, Shared: shared.ID}); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("following itself: %v", err)
	}
}

// rowsOf returns the skills and versions of a workspace as text.
func rowsOf(b *apptest.Bundle, ws int64) []string {
	return column[string](b, `select id || ' ' || body::text from cairn.memory_skills where workspace_id = $1
union all select number || ' ' || array_to_string(members, ' ') || reason from cairn.bank_versions where `+
		`workspace_id = $1 order by 1`, ws)
}

// An untrained policy is replaced by the policy of the shared skills. A trained policy stays.
func TestFollowingTakesOverWhatWasLearnt(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t, offlineRules)
	shared, err := b.Store.Workspace(t.Context(), bank.SharedWorkspace, true)
	testkit.Must(t, err)
	out, _ := playTraining(t, b, b.Learning, func(what string, step func() error) {
		if err := step(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	})
	promoteTrained(b, out.Policy) // the gate needs more conversations
	learnt, err := b.Learning.Banks.Head(t.Context(), b.Workspace.ID, bank.Default)
	testkit.Must(t, err)
	empty, err := b.Learning.Banks.Head(t.Context(), shared.ID, bank.Default)
	testkit.Must(t, err)
	got, err := b.Learning.Banks.Follow(t.Context(), bank.FollowRequest{Workspace: b.Workspace.ID, Shared: shared.ID})
	testkit.Must(t, err)
	if got.Version.Policy != learnt.Version.Policy || got.Version.Policy == empty.Version.Policy {
		t.Error("a policy that has learnt gave way")
	}
	// In the other direction, a trained bank is followed by an untrained one.
	fresh, err := b.Store.Workspace(t.Context(), "fresh", true)
	testkit.Must(t, err)
	got, err = b.Learning.Banks.Follow(t.Context(), bank.FollowRequest{Workspace: fresh.ID, Shared: b.Workspace.ID})
	testkit.Must(t, err)
	if now, err := b.Learning.Banks.Head(t.Context(), b.Workspace.ID, bank.Default); err != nil ||
		got.Snapshot() != now.Snapshot() {
		t.Errorf("%+v, want %+v; %v", got.Version, now.Version, err)
	}
}

// promoteTrained makes the policy of a training the active one, with the optimizer of one of its iterations.
func promoteTrained(b *apptest.Bundle, sha string) {
	b.T.Helper()
	ctx := b.T.Context()
	head, err := b.Learning.Banks.Head(ctx, b.Workspace.ID, bank.Default)
	testkit.Must(b.T, err)
	optimizers := column[string](b, "select sha from cairn.policies where kind = 'optimizer' and sha <> $1",
		head.Version.Optimizer)
	testkit.Must(b.T, b.Learning.Ports.Store.InWorkspace(ctx, b.Workspace.ID,
		func(ctx context.Context, tx store.Tx) error {
			chooser, optimizer, err := b.Learning.Banks.ReadWeights(ctx, tx, sha, optimizers[0])
			if err != nil {
				return err
			}
			_, err = b.Learning.Banks.Advance(ctx, tx, head.BankRow, bank.Draft{Base: head.Head,
				Action: bank.ActionTrain,
				Bank:   head.Bank, Policy: chooser, Optimizer: optimizer, Reason: "trained"})
			return err
		}))
}
