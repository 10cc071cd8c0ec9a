package e2e_test

import (
	"strings"
	"sync"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/lab/apptest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/testkit"
)

// skillFile returns a memory skill in the form of an import.
func skillFile(name, description string) map[string][]byte {
	return map[string][]byte{name + ".md": memoryskill.Render(
		memoryskill.Skill{Name: name, Description: description, Purpose: "Keep them.",
			WhenToUse:  []string{"The span tells of them"},
			HowToApply: []string{"One fact in one item"}, Constraints: []string{"Ignore greetings"},
			Action: memoryskill.Insert})}
}

// Bank and policy move forward and back together, and all versions stay.
func TestABankGoesBackTogetherWithItsPolicy(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	ws := b.Workspace.ID
	first, err := b.Learning.Banks.Head(t.Context(), ws, bank.Default)
	testkit.Must(t, err)
	if first.Head != 1 || first.Bank.Len() != 10 || first.Version.Action != bank.ActionSeed {
		t.Fatalf("%+v", first.Version)
	}
	second, err := b.Learning.Banks.Import(t.Context(), ws, bank.Default, skillFile("capture_dates", "Adds dates."))
	testkit.Must(t, err)
	if second.Head != 2 || second.Bank.Len() != 11 || second.Version.Parent != 1 || len(second.Version.Fresh) != 1 {
		t.Errorf("%+v", second.Version)
	}
	third, err := b.Learning.Banks.Rollback(t.Context(), ws, bank.Default, 1)
	testkit.Must(t, err)
	if third.Head != 3 || third.Snapshot() != first.Snapshot() || third.Version.Action != bank.ActionRollback {
		t.Errorf("%+v", third.Version)
	}
	if again, err := b.Learning.Banks.Rollback(t.Context(), ws, bank.Default, 1); err != nil || again.Head != 3 {
		t.Errorf("back to what is in force: version %d, %v", again.Head, err)
	}
	if _, err := b.Learning.Banks.Rollback(t.Context(), ws, bank.Default, 9); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a version that is not there: %v", err)
	}
	if _, err := b.Learning.Banks.Import(t.Context(), ws, bank.Default,
		map[string][]byte{"a.md": []byte("# Broken"),
			"b.md": skillFile("capture_b", "Adds b.")["capture_b.md"]}); err == nil ||
		!strings.Contains(err.Error(), "a.md") {
		t.Errorf("a broken file: %v", err)
	}
	if now, err := b.Learning.Banks.Head(t.Context(), ws, bank.Default); err != nil || now.Head != 3 {
		t.Errorf("version %d, %v", now.Head, err)
	}
	if _, err := b.Learning.Banks.Head(t.Context(), ws, "nobody"); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a bank that is not there: %v", err)
	}
}

// A new skill that duplicates another one is rejected, also within one import. The same text
// under the existing name changes nothing.
func TestAnImportOfANearDuplicateIsRefused(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	ws := b.Workspace.ID
	read := func(files ...map[string][]byte) error {
		all := map[string][]byte{}
		for _, f := range files {
			for name, markdown := range f {
				all[name] = markdown
			}
		}
		_, err := b.Learning.Banks.Import(t.Context(), ws, bank.Default, all)
		return err
	}
	if err := read(skillFile("capture_dates", "Adds dates and times.")); err != nil {
		t.Fatal(err)
	}
	if err := read(skillFile("capture_times", "Adds dates and times!")); fault.CodeOf(err) != fault.DuplicateSuspect {
		t.Errorf("another name for what is there: %v", err)
	}
	if err := read(skillFile("capture_jam", "Adds who prefers which jam."),
		skillFile("capture_jams", "Adds who prefers which jam.")); fault.CodeOf(err) != fault.DuplicateSuspect {
		t.Errorf("two that say the same: %v", err)
	}
	if err := read(skillFile("capture_dates", "Adds dates and times.")); err != nil {
		t.Errorf("the skill itself: %v", err)
	}
	if now, err := b.Learning.Banks.Head(t.Context(), ws, bank.Default); err != nil || now.Head != 2 {
		t.Errorf("version %d, %v", now.Head, err)
	}
}

// If two callers change a bank concurrently, each gets the result of its own change, and no
// change is lost silently.
func TestABankHasOneWriterAtATime(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	ws := b.Workspace.ID
	_, err := b.Learning.Banks.Head(t.Context(), ws, bank.Default)
	testkit.Must(t, err)
	var writing sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		writing.Go(func() {
			name := "capture_" + string(rune('a'+i))
			_, errs[i] = b.Learning.Banks.Import(t.Context(), ws, bank.Default,
				skillFile(name, "Adds what is about "+name))
		})
	}
	writing.Wait()
	done := 0
	for _, err := range errs {
		switch fault.CodeOf(err) {
		case "":
			done++
		case fault.VersionConflict, fault.Unavailable:
		default:
			t.Error(err)
		}
	}
	now, err := b.Learning.Banks.Head(t.Context(), ws, bank.Default)
	testkit.Must(t, err)
	if done == 0 || now.Bank.Len() != 10+done || now.Head != 1+done {
		t.Errorf("%d of 4 were done; the bank has %d skills at version %d", done, now.Bank.Len(), now.Head)
	}
}
