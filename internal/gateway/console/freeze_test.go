package console_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/domain/prompt"
	"cairn/internal/testkit"
)

func TestABankIsFrozenOnItsPage(t *testing.T) {
	t.Parallel()
	b, f := filled(t, access.Admin)
	at := f.At("learning", "default")
	changed, err := b.Learning.Banks.SetPrompt(t.Context(), b.Workspace.ID, "default", prompt.Grade, "en",
		"{{material}}{{language}}{{reply}} Be strict.")
	testkit.Must(t, err)
	b.get(at).is(http.StatusOK).has(">Freeze<").lacks("Unfreeze")
	for range 2 {
		b.get(b.post(at+"/freeze", url.Values{}).is(http.StatusSeeOther).header.Get("Location")).is(http.StatusOK).
			has("The bank keeps its active version.", "A frozen bank keeps", ">Unfreeze<")
	}
	if got := b.audited("bank.freeze"); !strings.HasPrefix(got, "bank ") {
		t.Errorf("audited %q", got)
	}
	b.post(at+"/rollback", url.Values{"to": {strconv.Itoa(changed.Head - 1)}}).is(http.StatusForbidden).
		has("is frozen", "cairn bank unfreeze --bank default")
	b.get(f.At("learning")).has("Frozen since", "Unfreeze")
	b.get(b.post(at+"/unfreeze", url.Values{}).is(http.StatusSeeOther).header.Get("Location")).
		has("The bank may change again.", ">Freeze<")
	b.post(f.At("learning", "none", "freeze"), url.Values{}).is(http.StatusNotFound)
	b.browser = browser(t)
	b.signedIn(access.Write)
	b.post(at+"/freeze", url.Values{}).is(http.StatusForbidden)
}
