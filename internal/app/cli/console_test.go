package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestTheSignInLinkNeedsAGateway(t *testing.T) {
	t.Parallel()
	w := idle(t)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer other.Close()
	base := slices.Clone(w.environ)
	for name, change := range map[string][]string{
		"nothing listens":               {"CAIRN_LISTEN=127.0.0.1:1"},
		"another program listens":       {"CAIRN_LISTEN=" + strings.TrimPrefix(other.URL, "http://")},
		"public address without Cairn":  {"CAIRN_LISTEN=127.0.0.1:1", "PUBLIC_BASE_URL=" + other.URL},
		"no stack runs in this folder":  {"DATABASE_URL=", "TEMPORAL_ADDRESS="},
		"the console's own address":     {"CAIRN_CONSOLE=127.0.0.1:1"},
		"no gateway, but a public name": {"CAIRN_LISTEN=127.0.0.1:1", "PUBLIC_BASE_URL=http://127.0.0.1:1/cairn"},
	} {
		w.environ = append(slices.Clone(base), change...)
		code, out, errs := w.run("", "console")
		if code != 7 || out != "" || !strings.Contains(errs, "[unavailable]") ||
			!strings.Contains(errs, "hint: start one with `cairn serve`") {
			t.Errorf("%s: exit %d, printed %q, said %q", name, code, out, errs)
		}
	}
	w.environ = append(slices.Clone(base), "CAIRN_CONSOLE=off")
	if code, out, errs := w.run(
		"",
		"console",
	); code != 8 || out != "" ||
		!strings.Contains(errs, "unset CAIRN_CONSOLE") {
		t.Errorf("off: exit %d, printed %q, said %q", code, out, errs)
	}
}

// What the hint names makes the command work, also if this machine cannot reach the public address.
func TestTheSignInLinkOpensItsPage(t *testing.T) {
	t.Parallel()
	w := idle(t)
	w.served(t, func() {
		link := strings.TrimSpace(w.succeeds(t, "", "console", "--scopes", "read"))
		res, err := http.Get(link)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		page, err := io.ReadAll(res.Body)
		_, code, found := strings.Cut(link, "code=")
		if err != nil || !found || res.StatusCode != http.StatusOK || !strings.Contains(string(page), code) {
			t.Errorf("%s: %s, %v\n%s", link, res.Status, err, page)
		}
		w.environ = append(w.environ, "PUBLIC_BASE_URL=http://127.0.0.1:1/cairn")
		if link := w.succeeds(t, "", "console"); !strings.HasPrefix(link, "http://127.0.0.1:1/cairn/console/link?") {
			t.Errorf("link %q", link)
		}
	})
}

func TestTheDemoNamesTheCommandsOfTheConsoleWithoutAGateway(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.environ = append(w.environ, "CAIRN_LISTEN=127.0.0.1:1")
	out := w.succeeds(t, "", "demo")
	_, hint, found := strings.Cut(out, "Open it in the web console: run `")
	if !found || !strings.Contains(hint, " serve`, then `") || !strings.Contains(hint, " console --workspace demo-") ||
		strings.Contains(out, "link?code=") {
		t.Errorf("it ends with\n%s", out)
	}
	w.environ = append(w.environ, "CAIRN_CONSOLE=off")
	if out := w.succeeds(t, "", "demo"); strings.Contains(out, "web console") {
		t.Errorf("the console is off, but it prints\n%s", out)
	}
}
