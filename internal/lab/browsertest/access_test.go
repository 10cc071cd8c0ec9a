package browsertest_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/access"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/browsertest"
	"cairn/internal/testkit"
)

// A sign-in link opens its page after a click, once.
func TestALinkSignsIn(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	code, err := f.Sessions.Link(t.Context(), f.Workspace, "ada", []access.Scope{access.Read, access.Write})
	testkit.Must(t, err)
	link := "/console/link?" + url.Values{"code": {code}, "next": {f.At("memories")}}.Encode()
	b := browsertest.Open(t, f.URL)
	b.Visit(link)
	b.Submit("main form button")
	if b.Path() != f.At("memories") {
		t.Errorf("the link opens %s", b.Path())
	}
	shows(b, "green tea", "read, write")
	made := find(t, read[httpapi.ConsoleSessionList](f, "/v1/sessions").Sessions,
		func(s httpapi.ConsoleSession) bool { return s.Name == "ada" })
	if !slices.Equal(made.Scopes, []string{"read", "write"}) {
		t.Errorf("the session has the scopes %q", made.Scopes)
	}
	other := browsertest.Open(t, f.URL)
	other.Visit(link)
	other.Expect(http.StatusNotFound)
	other.Submit("main form button")
	shows(other, "invalid, used or older")
}

// A key is shown once, works, and stops working when it is revoked.
func TestKeysAreCreatedAndRevoked(t *testing.T) {
	f, b := signedIn(t)
	b.Visit(f.At("keys"))
	b.Enter("#add-name", "robot")
	b.Click("[name=scope][value=write]")
	b.Choose("#add-expires", "2099-01-31")
	b.Submit("form[action$='/keys'] button")
	shows(b, "robot", "2099-01-31")
	secret := browsertest.Evaluate[string](b, "document.getElementById('secret').innerText")
	key := func() httpapi.APIKey {
		return find(t, read[httpapi.KeyList](f, "/v1/keys").Keys,
			func(k httpapi.APIKey) bool { return k.Name == "robot" })
	}
	made := key()
	if !slices.Equal(made.Scopes, []string{"read", "write"}) || made.ExpiresAt == nil ||
		made.ExpiresAt.Format("2006-01-02") != "2099-01-31" || made.RevokedAt != nil {
		t.Errorf("the key is %+v", made)
	}
	works := func() bool {
		with := *f
		with.Key = secret
		status, _ := ask(&with, http.MethodGet, "/v1/memories", "")
		return status == http.StatusOK
	}
	if !works() {
		t.Error("the key does not work")
	}
	b.Visit(f.At("keys"))
	hides(b, secret)
	b.Act(fmt.Sprintf("form[action$='/keys/%d/revoke'] button", made.ID), "Revoked.")
	shows(b, "revoked")
	if key().RevokedAt == nil {
		t.Error("the key is not revoked")
	}
	testkit.Eventually(t, "the key does not work any more", func() bool { return !works() })
}

// A person ends the session of another browser.
func TestSessionsAreEnded(t *testing.T) {
	f, b := signedIn(t)
	here := read[httpapi.ConsoleSessionList](f, "/v1/sessions").Sessions
	other := browsertest.Open(t, f.URL)
	other.SignIn(f.Key)
	added := find(t, read[httpapi.ConsoleSessionList](f, "/v1/sessions").Sessions,
		func(s httpapi.ConsoleSession) bool { return s.ID != here[0].ID })
	b.Visit(f.At("keys"))
	end := fmt.Sprintf("form[action$='/sessions/%d/end'] button", added.ID)
	b.Act(end, "Ended.")
	if has(b, end) {
		t.Error("the session is still listed")
	}
	if left := read[httpapi.ConsoleSessionList](
		f,
		"/v1/sessions",
	).Sessions; len(left) != 1 ||
		left[0].ID != here[0].ID {
		t.Errorf("sessions %+v", left)
	}
	testkit.Eventually(t, "the other browser must sign in", func() bool {
		other.Visit(f.At("keys"))
		return strings.HasSuffix(other.Path(), "/sign-in")
	})
	b.Visit(f.At("keys"))
	shows(b, "this browser")
}

// A second key adds its workspace to the browser, and the menu changes between the workspaces.
func TestASecondWorkspaceIsAdded(t *testing.T) {
	f, b := signedIn(t)
	other, err := f.Store.Workspace(t.Context(), "garden", true)
	testkit.Must(t, err)
	key, _, err := f.Keys.Create(t.Context(), other.ID, "garden", []access.Scope{access.Read})
	testkit.Must(t, err)
	b.Click("header a[href$='/sign-in']")
	b.Await("#key")
	b.Type("#key", key)
	b.Submit("main form button")
	if b.Path() != "/console/w/garden/" {
		t.Fatalf("the key opens %s", b.Path())
	}
	shows(b, "Scopes: read")
	b.Visit("/console/w/garden/memories")
	hides(b, "green tea")
	b.Click("details.switch summary")
	b.Click("details.switch a[href$='/w/" + f.Workspace.Name + "/']")
	b.Await("details.switch a[href$='/w/garden/']")
	b.Visit(f.At("memories"))
	shows(b, "green tea", "Scopes: admin")
	b.Submit("form[action$=sign-out] button")
	for _, path := range []string{f.At(), "/console/w/garden/"} {
		b.Visit(path)
		b.Await("#key")
	}
}
