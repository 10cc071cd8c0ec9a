package bank_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/prompt"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/train"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// file returns a memory skill file.
func file(name, description string) map[string][]byte {
	return map[string][]byte{name + ".md": memoryskill.Render(memoryskill.Skill{Name: name, Title: "A skill",
		Description: description, Purpose: "Keep it.", Action: memoryskill.Insert, WhenToUse: []string{"Always"},
		HowToApply: []string{"Copy it"}, Constraints: []string{"None"}})}
}

func wants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func TestTheDefaultBankIsSeededOnce(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	first, err := l.Banks.Head(t.Context(), l.DB.A.ID, bank.Default)
	testkit.Must(t, err)
	again, err := l.Banks.Head(t.Context(), l.DB.A.ID, bank.Default)
	testkit.Must(t, err)
	if first.Head != 1 || first.Bank.Len() != 10 || first.Version.Action != bank.ActionSeed || again.Head != 1 ||
		again.Snapshot() != first.Snapshot() || first.Optimizer.Steps() != 0 {
		t.Errorf("%+v, then %+v", first.Version, again.Version)
	}
	_, err = l.Banks.Head(t.Context(), l.DB.A.ID, "other")
	wants(t, "a bank that there is not", err, fault.NotFound)
	listed, err := l.Banks.List(t.Context(), l.DB.B.ID)
	testkit.Must(t, err)
	if len(listed) != 1 || listed[0].Name != bank.Default || listed[0].Skills != 10 {
		t.Errorf("%+v", listed)
	}
}

func TestSkillsAreImportedOnce(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx, ws := t.Context(), l.DB.A.ID
	made, err := l.Banks.Import(ctx, ws, "house", file("capture_dates", "Adds dates and times."))
	testkit.Must(t, err)
	again, err := l.Banks.Import(ctx, ws, "house", file("capture_dates", "Adds dates and times."))
	testkit.Must(t, err)
	if made.Head != 2 || made.Bank.Len() != 11 || again.Head != 2 || len(made.Version.Fresh) != 1 {
		t.Errorf("version %d with %d skills, then %d", made.Head, made.Bank.Len(), again.Head)
	}
	_, err = l.Banks.Import(ctx, ws, "house", map[string][]byte{"a.md": []byte("# Broken")})
	if err == nil || !strings.Contains(err.Error(), "a.md") {
		t.Errorf("a broken file: %v", err)
	}
	if _, err = l.Banks.Import(ctx, ws, "house", file("note_dates", "Adds dates and times.")); err == nil {
		t.Error("a skill that says what another says")
	}
	versions, _, err := l.Banks.History(ctx, ws, "house", "", 10)
	testkit.Must(t, err)
	if len(versions) != 2 || versions[0].Action != bank.ActionImport || versions[0].Parent != 1 {
		t.Errorf("%+v", versions)
	}
}

func TestABankIsNotMadeForFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx, ws := t.Context(), l.DB.A.ID
	_, err := l.Banks.Import(ctx, ws, "house", map[string][]byte{"a.md": []byte("# Broken"), "b.md": []byte("{}")})
	if fault.CodeOf(err) != fault.InvalidArgument || !strings.Contains(err.Error(), "a.md") ||
		!strings.Contains(err.Error(), "b.md") {
		t.Errorf("broken files: %v", err)
	}
	_, err = l.Banks.Head(ctx, ws, "house")
	wants(t, "the bank of refused files", err, fault.NotFound)
}

func TestRollbackGoesBackOnce(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx, ws := t.Context(), l.DB.A.ID
	_, err := l.Banks.Import(ctx, ws, bank.Default, file("capture_dates", "Adds dates."))
	testkit.Must(t, err)
	for range 2 {
		back, err := l.Banks.Rollback(ctx, ws, bank.Default, 1)
		testkit.Must(t, err)
		first, err := l.Banks.At(ctx, ws, bank.Default, 1)
		testkit.Must(t, err)
		if back.Head != 3 || back.Snapshot() != first.Snapshot() || first.Stats == nil {
			t.Errorf("%+v", back.Version)
		}
	}
	_, err = l.Banks.Rollback(ctx, ws, bank.Default, 9)
	wants(t, "a version that there is not", err, fault.NotFound)
}

func TestABankFollowsTheSharedOne(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx, own, shared := t.Context(), l.DB.A.ID, l.DB.B.ID
	follow := func() (bank.Head, error) {
		return l.Banks.Follow(ctx, bank.FollowRequest{Workspace: own, Shared: shared})
	}
	_, err := follow()
	wants(t, "no shared bank", err, fault.NotFound)
	_, err = l.Banks.Follow(ctx, bank.FollowRequest{Workspace: own, Shared: own})
	wants(t, "itself", err, fault.InvalidArgument)
	_, err = l.Banks.Import(ctx, shared, bank.Default, file("capture_dates", "Adds dates."))
	testkit.Must(t, err)
	for range 2 { // no changes to follow
		got, err := follow()
		testkit.Must(t, err)
		if _, there := got.Bank.Get("capture_dates"); !there || got.Head != 2 {
			t.Errorf("version %d", got.Head)
		}
	}
}

func TestABankHasOneWriter(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	_, err := l.Banks.Head(t.Context(), l.DB.A.ID, bank.Default)
	testkit.Must(t, err)
	take := func(holder string) error {
		return l.Within(func(ctx context.Context, tx store.Tx) error {
			_, err := l.Banks.TakeLease(ctx, tx, bank.Default, holder, time.Minute)
			return err
		})
	}
	testkit.Must(t, take("run/1"))
	testkit.Must(t, take("run/1")) // extends it
	wants(t, "a second writer", take("run/2"), fault.Unavailable)
	_, err = l.Banks.Import(t.Context(), l.DB.A.ID, bank.Default, file("capture_dates", "Adds dates."))
	wants(t, "an import meanwhile", err, fault.Unavailable)
	testkit.Must(t, l.Within(func(ctx context.Context, tx store.Tx) error {
		head, err := l.Banks.ReadHead(ctx, tx, bank.Default)
		testkit.Must(t, err)
		_, err = l.Banks.Advance(ctx, tx, head.BankRow, bank.Draft{Base: 7, Bank: head.Bank, Policy: head.Policy,
			Optimizer: head.Optimizer})
		wants(t, "a draft on another version", err, fault.VersionConflict)
		return nil
	}))
}

// A frozen bank keeps its version against each way to change it, until it is unfrozen.
func TestAFrozenBankKeepsItsVersion(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx, ws := t.Context(), l.DB.A.ID
	_, err := l.Banks.Import(ctx, ws, bank.Default, file("capture_dates", "Adds dates."))
	testkit.Must(t, err)
	for range 2 {
		frozen, err := l.Banks.Freeze(ctx, ws, bank.Default, true)
		testkit.Must(t, err)
		if !frozen.Frozen() || frozen.Head != 2 {
			t.Errorf("%+v", frozen.BankRow)
		}
	}
	_, err = l.Banks.Import(ctx, ws, bank.Default, file("capture_plans", "Adds plans of trips."))
	wants(t, "an import", err, fault.Protected)
	_, err = l.Banks.Rollback(ctx, ws, bank.Default, 1)
	wants(t, "a rollback", err, fault.Protected)
	_, err = l.Banks.SetPrompt(
		ctx,
		ws,
		bank.Default,
		prompt.Grade,
		"en",
		"{{material}}{{language}}{{reply}} Be strict.",
	)
	wants(t, "a prompt", err, fault.Protected)
	_, err = l.Banks.Import(ctx, l.DB.B.ID, bank.Default, file("capture_plans", "Adds plans of trips."))
	testkit.Must(t, err)
	_, err = l.Banks.Follow(ctx, bank.FollowRequest{Workspace: ws, Shared: l.DB.B.ID})
	wants(t, "following a shared bank", err, fault.Protected)
	_, err = l.Trainings.Accept(ctx, train.Request{Workspace: ws, WorkspaceKey: l.DB.A.Key})
	wants(t, "a training", err, fault.Protected)
	_, err = l.Rounds.Accept(ctx, train.EvolutionRequest{Workspace: ws, WorkspaceKey: l.DB.A.Key})
	wants(t, "a round of the designer", err, fault.Protected)

	listed, err := l.Banks.List(ctx, ws)
	testkit.Must(t, err)
	if listed[0].FrozenAt == nil || listed[0].Version != 2 {
		t.Errorf("listed as %+v", listed[0])
	}
	open, err := l.Banks.Freeze(ctx, ws, bank.Default, false)
	testkit.Must(t, err)
	back, err := l.Banks.Rollback(ctx, ws, bank.Default, 1)
	testkit.Must(t, err)
	if open.Frozen() || back.Head != 3 {
		t.Errorf("unfrozen %+v, then %+v", open.BankRow, back.Version)
	}
	_, err = l.Banks.Freeze(ctx, ws, "none", true)
	wants(t, "a bank that there is not", err, fault.NotFound)
}
