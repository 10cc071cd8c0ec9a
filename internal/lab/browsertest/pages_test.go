package browsertest_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"cairn/internal/domain/access"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/browsertest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// Each page in both languages and color schemes, on a wide and on a narrow window.
func TestEveryPageIsAccessible(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	b := browsertest.Open(t, f.URL)
	b.SignIn(f.Key)
	pages := f.Pages()
	pages["an error"] = f.At("runs") + "?kind=nonsense"
	for _, look := range []struct {
		scheme, language string
		width            int64
	}{{"light", "en", 1280}, {"dark", "zh", 320}, {"dark", "en", 1280}, {"light", "zh", 320}} {
		b.Prefer(look.scheme, look.language)
		b.Size(look.width, 900)
		for _, name := range slices.Sorted(maps.Keys(pages)) {
			if b.Expect(200); name == "an error" {
				b.Expect(400)
			}
			b.Visit(pages[name])
			if got := browsertest.Evaluate[string](b, "document.documentElement.lang"); got != look.language {
				t.Errorf("%s: language %s", name, got)
			}
			b.CheckAccessibility()
		}
	}
	b.Expect(200)
	b.Size(1280, 900)
	b.Visit(f.At())
	b.Click("form[action$=sign-out] button")
	b.Await("#key")
	for _, scheme := range []string{"light", "dark"} {
		b.Prefer(scheme, "en")
		b.Visit("/console/sign-in")
		b.CheckAccessibility()
		b.Visit("/console/link?code=x")
		b.CheckAccessibility()
	}
}

// The pages work without scripts.
func TestPagesWorkWithoutScripts(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	b := browsertest.Open(t, f.URL)
	b.Scripts(false)
	b.SignIn(f.Key)
	b.Visit(f.At("memories", f.Personal))
	b.Type("#content", " And in Rome.")
	b.Click("form[action$=edit] button")
	b.Await(".notice")
	b.Visit(f.At("inbox", f.Change))
	b.Click("form[action$=approve] button")
	b.Await(".notice")
	b.Visit(f.At("skills") + "?q=release")
	for _, path := range f.Pages() {
		if strings.Contains(path, f.Change) {
			continue // decided
		}
		b.Visit(path)
		b.Await("h1")
	}
}

// A person signs in, approves and edits with the keyboard alone.
func TestEverythingWorksWithTheKeyboard(t *testing.T) {
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	b := browsertest.Open(t, f.URL)
	b.Visit("/console/sign-in")
	b.Press(kb.Tab)
	if text := focused(b); text != "Skip to content" {
		t.Errorf("the first focus is on %q", text)
	}
	until(t, b, "INPUT key")
	b.Press(f.Key + kb.Enter)
	b.Await("nav [aria-current]")
	until(t, b, "Inbox")
	b.Press(kb.Enter)
	b.Await(".cards")
	until(t, b, f.Versioned)
	b.Press(kb.Enter)
	b.Await("form[action$=approve]")
	until(t, b, "Approve")
	b.Press(kb.Enter)
	b.Await(".notice")
	if text := b.Text(); !strings.Contains(text, "Approved.") {
		t.Errorf("the page shows %s", text)
	}
	b.Visit(f.At("memories", f.Personal))
	until(t, b, "TEXTAREA content")
	b.Press(" Since May.")
	until(t, b, "Save the change")
	b.Press(kb.Enter)
	b.Await(".notice")
	if text := b.Text(); !strings.Contains(text, "Since May.") {
		t.Errorf("the page shows %s", text)
	}
}

// focused describes the element that has the focus.
func focused(b *browsertest.Browser) string {
	return browsertest.Evaluate[string](b, `(() => { const e = document.activeElement; return e.name ?
    e.tagName + " " + e.name : e.innerText.trim(); })()`)
}

// until presses Tab until an element has the focus, whose outline must be visible.
func until(t *testing.T, b *browsertest.Browser, want string) {
	t.Helper()
	for range 80 {
		if focused(b) == want {
			if style := browsertest.Evaluate[string](
				b,
				"getComputedStyle(document.activeElement).outlineStyle",
			); style == "none" {
				t.Errorf("the focus on %q is not visible", want)
			}
			return
		}
		b.Press(kb.Tab)
	}
	t.Fatalf("Tab does not reach %q on %s", want, b.Path())
}

// The test would fail for what it must find.
func TestTheBrowserReportsWhatMustNotHappen(t *testing.T) {
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	b := browsertest.Open(t, f.URL)
	b.Visit("/console/sign-in")
	for what, script := range map[string]string{
		"an inline script": `{const s = document.createElement("script");
      try { s.text = "window.__xss = 1" } catch (e) {}
      document.body.append(s); 1}`,
		"another host":    `{fetch("http://127.0.0.2:9/").catch(() => {}); 1}`,
		"a console error": `{console.error("x"); 1}`,
		"a style":         `{document.body.setAttribute("style", "color: red"); 1}`,
	} {
		browsertest.Evaluate[int](b, script)
		seen := b.Problems()
		for range 50 {
			if len(seen) > 0 {
				break
			}
			browsertest.Evaluate[int](b, `new Promise(r => setTimeout(() => r(1), 20))`)
			seen = b.Problems()
		}
		if len(seen) == 0 {
			t.Errorf("%s is not reported", what)
		}
		browsertest.Evaluate[int](b, `new Promise(r => setTimeout(() => r(1), 50))`)
		b.Problems()
	}
	if got := browsertest.Evaluate[bool](b, "window.__xss === undefined"); !got {
		t.Error("an inline script ran")
	}
}

// A reader sees why an action is not possible.
func TestActionsWithoutTheScopeAreDisabled(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	b := browsertest.Open(t, f.URL)
	b.SignIn(f.Reader(access.Read))
	for name, path := range f.Pages() {
		if b.Expect(200); browsertest.Needs(name) != access.Read {
			b.Expect(403)
		}
		b.Visit(path)
		if n := browsertest.Evaluate[int](b,
			`document.querySelectorAll("main form[method=post] button:not(:disabled)").length`); n > 0 {
			t.Errorf("%s: %d buttons are enabled", name, n)
		}
		b.CheckAccessibility()
	}
}

// A chat streams the reply, and shows afterwards what the turn remembered.
func TestAChatStreamsItsReply(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	b := browsertest.Open(t, f.URL)
	for _, scripts := range []bool{true, false} {
		if b.Scripts(true); scripts {
			b.SignIn(f.Key)
		}
		f.Model.Forget()
		arguments := `{"content":"Ada sails on Sundays."}`
		f.Model.On(openaitest.Rule{Stage: "turn", Match: "sail", Results: new(0), Times: 1,
			Calls: []llm.ToolCall{{ID: "call_1", Name: "memory_save", Arguments: arguments}}})
		f.Model.On(openaitest.Rule{Stage: "turn", Reply: "I will remember **that** for you, Ada."})
		b.Visit(f.At("try"))
		b.Type("#text", "I sail on Sundays.")
		b.Scripts(scripts)
		b.Click("form[action$=try] button")
		b.Await("main form button[value], main input[value=good]") // the reply can be rated
		text := b.Text()
		for _, want := range []string{"I sail on Sundays.", "I will remember that for you, Ada."} {
			if !strings.Contains(text, want) {
				t.Errorf("scripts %t: no %q in %s", scripts, want, text)
			}
		}
		if scripts && !strings.Contains(text, "Remembered in this turn:") {
			t.Errorf("no memory in %s", text)
		}
		b.Scripts(true) // axe waits for timers
		b.CheckAccessibility()
		b.Click("form[action$=rate] button")
		b.Await(".notice")
	}
	b.Scripts(true)
	streamed := false
	for _, address := range b.Requests() {
		streamed = streamed || strings.HasSuffix(address, "/events")
	}
	if !streamed {
		t.Error("the page asked for no events")
	}
}

// A person edits a dangerous skill, sees the findings about the own text, and approves it with the keyboard.
func TestAnItemIsEditedWithTheKeyboard(t *testing.T) {
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	b := browsertest.Open(t, f.URL)
	b.SignIn(f.Key)
	b.Visit(f.At("inbox", f.Candidate))
	until(t, b, "Edit and approve")
	b.Press(kb.Enter)
	b.Await("#content")
	b.CheckAccessibility()
	until(t, b, "TEXTAREA content")
	browsertest.Evaluate[int](b, "{document.getElementById('content').select(); 1}")
	b.Press("## Procedure")
	b.Press(kb.Enter)
	b.Press("1. Read the notes")
	until(t, b, "BUTTON check")
	b.Press(kb.Enter)
	b.Await("#findings")
	if text := b.Text(); !strings.Contains(text, "The checks found nothing.") {
		t.Errorf("the page shows %s", text)
	}
	b.CheckAccessibility()
	until(t, b, "Approve this text")
	b.Press(kb.Enter)
	b.Await(".notice")
	b.Visit(f.At("skills", "install-a-release"))
	if text := b.Text(); !strings.Contains(text, "Read the notes") || !strings.Contains(text, "by a user") {
		t.Errorf("the skill is %s", text)
	}
}

// Several items are rejected at once, with and without scripts.
func TestSeveralItemsAreRejected(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	b := browsertest.Open(t, f.URL)
	b.SignIn(f.Key)
	b.Scripts(false)
	b.Visit(f.At("inbox"))
	b.Click(".cards li:nth-child(1) input")
	b.Click(".cards li:nth-child(2) input")
	b.Click(".cards li:nth-child(3) input")
	b.Click("button[value=reject]")
	b.Await(".notice")
	b.Scripts(true)
	if text := b.Text(); !strings.Contains(text, "Decided.") || !strings.Contains(text, "Nothing waits") {
		t.Errorf("the page shows %s", text)
	}
}

// Shortcuts move between pages and within lists, and can be switched off.
func TestShortcuts(t *testing.T) {
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	b := browsertest.Open(t, f.URL)
	const ready = "#keys:not([hidden])" // the script has run
	b.SignIn(f.Key)
	b.Await(ready)
	b.Press("g")
	b.Press("m")
	b.Await("#q")
	b.Await(ready)
	b.Press("/")
	if got := focused(b); got != "INPUT q" {
		t.Errorf("/ focuses %q", got)
	}
	b.Press("g")
	b.Press("i")
	if got := browsertest.Evaluate[string](b, "document.getElementById('q').value"); !strings.HasSuffix(got, "gi") {
		t.Errorf("a field got %q", got)
	}
	browsertest.Evaluate[int](b, "{document.activeElement.blur(); 1}")
	b.Press("g")
	b.Press("i")
	b.Await(".cards")
	b.Await(ready)
	b.Press("j")
	b.Press("j")
	second := focused(b)
	b.Press("k")
	if first := focused(b); first == "" || first == second {
		t.Errorf("j and k move from %q to %q", second, first)
	}
	b.Press("?")
	b.Await("#keys[open]")
	b.CheckAccessibility()
	b.Click("#keys-on")
	browsertest.Evaluate[int](b, "{document.activeElement.blur(); 1}")
	b.Visit(f.At("inbox"))
	b.Await(ready)
	b.Press("g")
	b.Press("o")
	b.Press("j")
	idle := browsertest.Evaluate[bool](b, "document.activeElement === document.body")
	if !idle || b.Path() != f.At("inbox") {
		t.Errorf("shortcuts are on: %s on %s", focused(b), b.Path())
	}
}

// The page of an open run follows it without a click.
func TestAnOpenRunIsFollowed(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	b := browsertest.Open(t, f.URL)
	b.SignIn(f.Key)
	f.Model.Forget()
	f.Model.On(openaitest.Rule{Stage: "turn", Reply: "Here I am.", Barrier: "go"})
	defer f.Model.Release("go")
	b.Visit(f.At("try"))
	b.Type("#text", "Are you there?")
	b.Click("form[action$=try] button")
	b.Await("form[action$=stop] button")
	testkit.Must(t, f.Model.AwaitBarrier(t.Context(), "go", 1)) // the run changes nothing before the release
	b.Visit(f.At("runs") + "?kind=turn")                        // the latest one is open
	b.Await("tbody th a")
	b.Click("tbody th a")
	b.Await("[data-reload]")
	b.CheckAccessibility()
	f.Model.Release("go")
	b.Await("main .tag-completed")
	if text := b.Text(); !strings.Contains(text, "Here I am.") {
		t.Errorf("the page shows %s", text)
	}
}

// An operator sees numbers of all workspaces, and neither names nor texts.
func TestOperatorsSeeNumbers(t *testing.T) {
	t.Parallel()
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	key, _, err := f.Keys.CreateOperator(t.Context(), "ops", []access.Scope{access.Support}, nil)
	testkit.Must(t, err)
	b := browsertest.Open(t, f.URL)
	b.Visit("/console/sign-in")
	b.Type("#key", key)
	b.Click("main form button")
	b.Await("#workspaces")
	b.CheckAccessibility()
	b.Click("#workspaces ~ div tbody th a")
	b.Await("#counts")
	for _, look := range []string{"light", "dark"} {
		b.Prefer(look, "zh")
		b.Visit(b.Path())
		b.CheckAccessibility()
		b.Size(320, 900)
	}
	for _, secret := range []string{f.Workspace.Name + "\n", "green tea", "kitchen", f.Skill} {
		if strings.Contains(b.Text(), secret) {
			t.Errorf("the page shows %q", secret)
		}
	}
	b.Click("header form button")
	b.Await("#key")
	b.Visit("/console/operator/")
	b.Await("#key")
}
