package browsertest_test

import (
	"testing"

	"cairn/internal/gateway/httpapi"
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
