package browsertest_test

import (
	"testing"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/testkit"
)

// An update on trial is promoted, and the bank is rolled back to the version before.
func TestABankIsPromotedAndRolledBack(t *testing.T) {
	f, b := signedIn(t)
	bank := func() httpapi.BankVersion { return read[httpapi.BankDetail](f, "/v1/banks/default").Version }
	before := bank()
	b.Visit(f.At("learning", "default"))
	shows(b, "on trial")
	b.Act("form[action$='/promote'] button", "Promoted.")
	promoted := bank()
	if promoted.Number != before.Number+1 || promoted.Policy == before.Policy {
		t.Errorf("the bank was %+v, and is %+v", before, promoted)
	}
	updates := read[httpapi.PolicyUpdateList](f, "/v1/banks/default/updates").Updates
	if len(updates) != 1 || updates[0].State != "promoted" || updates[0].EndedAt == nil {
		t.Errorf("updates %+v", updates)
	}
	if has(b, "form[action$='/promote']") {
		t.Error("the update can be promoted again")
	}
	b.Act("form[action$='/rollback']:has([name=to][value='1']) button", "Rolled back.")
	if got := bank(); got.Number != promoted.Number+1 || got.Policy != before.Policy {
		t.Errorf("the bank was %+v, and is %+v", before, got)
	}
	b.Visit(f.At("inbox"))
	if has(b, "a[href$='/"+f.Update+"']") {
		t.Error("the update still waits in the inbox")
	}
}

// A frozen bank offers no promotion until it is unfrozen.
func TestABankIsFrozenAndUnfrozen(t *testing.T) {
	f, b := signedIn(t)
	frozen := func() bool { return read[httpapi.BankDetail](f, "/v1/banks/default").FrozenAt != nil }
	b.Visit(f.At("learning", "default"))
	b.Act("form[action$='/freeze'] button", "Frozen. The bank keeps its active version.")
	if !frozen() {
		t.Error("the bank is not frozen")
	}
	b.Act("form[action$='/unfreeze'] button", "The bank may change again.")
	if frozen() || !has(b, "form[action$='/freeze']") {
		t.Error("the bank is still frozen")
	}
}

// A change of a skill and an update of a policy are rejected on their pages.
func TestAnItemIsRejected(t *testing.T) {
	f, b := signedIn(t)
	waits := func(item string) bool {
		for _, i := range read[httpapi.InboxList](f, "/v1/inbox").Items {
			if i.ID == item {
				return true
			}
		}
		return false
	}
	for _, item := range []string{f.Change, f.Update} {
		if !waits(item) {
			t.Fatalf("%s does not wait", item)
		}
		b.Visit(f.At("inbox", item))
		b.Act("form[action$='/reject'] button", "Rejected.")
		if has(b, "a[href$='/inbox/"+item+"']") || waits(item) {
			t.Errorf("%s still waits", item)
		}
	}
	b.Visit(f.At("skills", f.Versioned))
	hides(b, "then write a report")
	updates := read[httpapi.PolicyUpdateList](f, "/v1/banks/default/updates").Updates
	if len(updates) != 1 || updates[0].State != "dropped" {
		t.Errorf("updates %+v", updates)
	}
	if !waits(f.Candidate) {
		t.Error("another item is gone")
	}
}

func TestWhatABankLearnedFromIsListed(t *testing.T) {
	f, b := signedIn(t)
	open := func(list string) {
		b.Visit(f.At("learning", "default"))
		b.Click("main a[href$='/" + list + "']")
		b.Await("main a[href$='/learning/default']")
	}
	open("cases")
	shows(b, "Which tea do I like?", "Black tea.", "Green tea", "a correction", f.Thread)
	open("decisions")
	shows(b, "on trial", "Probability")
	open("trainings")
	shows(b, "rejected", "difference +0.125, at least -0.250, from 9 conversations", "0.625")
	open("versions")
	shows(b, "seeds")
	open("updates")
	shows(b, "canary")
	open("rounds")
	shows(b, "rejected", "the candidate is not better", "difference -0.125, at least -0.250, from 9 conversations")
	b.Click("main td a[href$='" + f.Round + "']")
	b.Await("#waterfall")
}

func TestVersionsOfABankAreCompared(t *testing.T) {
	f, b := signedIn(t)
	b.Visit(f.At("learning", "default", "diff"))
	shows(b, "The skills and prompts are the same.")
	_, err := f.Learning.Banks.Import(t.Context(), f.Workspace.ID, "default", map[string][]byte{
		"note_dates.md": memoryskill.Render(memoryskill.Skill{Name: "note_dates", Title: "Note dates",
			Description: "Adds dates and times.", Purpose: "Keep the day.", Action: memoryskill.Insert,
			WhenToUse: []string{"A day is named"}, HowToApply: []string{"Copy it"}, Constraints: []string{"None"}})})
	testkit.Must(t, err)
	b.Visit(f.At("learning", "default", "versions"))
	shows(b, "import")
	b.Click("main th a[href*='/diff']")
	b.Await("section[aria-labelledby=c0]")
	shows(b, "Added: note_dates", "Purpose: Keep the day.")
	b.CheckAccessibility()
}
