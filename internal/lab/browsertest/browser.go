// Package browsertest drives the web console in a headless Chromium and fills a workspace for it:
//
//	f := browsertest.Fill(t)
//	b := browsertest.Open(t, f.URL)
//	b.SignIn(f.Key)
//	b.Visit(f.At("inbox"))
//	b.CheckAccessibility()
//
// A console error, an exception, a violation of the content security policy, a request to another host or a status of
// 500 and above fails the test.
package browsertest

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"cairn/internal/testkit"
)

//go:embed testdata/axe-4.14.1.min.js
var axe string

// patience bounds each action in the browser.
const patience = 60 * time.Second

// Chromium returns the path of a Chromium: that of CAIRN_CHROMIUM, else the installed one. Without one, it fails the
// test if CAIRN_TEST_CONSOLE is set, as make test-console does, and otherwise skips it.
func Chromium(t testing.TB) string {
	t.Helper()
	if os.Getenv("CAIRN_TEST_CONSOLE") == "" {
		t.Skip("make test-console runs the tests in a browser")
	}
	for _, name := range []string{os.Getenv("CAIRN_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Fatal("no Chromium: run `apt-get install chromium`, or set CAIRN_CHROMIUM to its path")
	return ""
}

var (
	started sync.Once
	browser context.Context
	stop    = func() {}
)

// Browser is a tab with a fresh profile. Use it from one test at a time.
type Browser struct {
	T    testing.TB
	base string
	ctx  context.Context

	mu       sync.Mutex
	problems []string
	requests []string
	expected int // status that the next page may have, although it is an error
}

// Open opens a tab for the console at a base URL.
func Open(t testing.TB, base string) *Browser {
	t.Helper()
	path := Chromium(t)
	started.Do(func() {
		ctx, cancel := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(
			chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.Flag("disable-gpu", true),
			chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("font-render-hinting", "none")))
		browser, stop = ctx, cancel
		testkit.Must(t, chromedp.Do(browser)) // starts it
	})
	b := &Browser{T: t, base: base}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	b.ctx = ctx
	t.Cleanup(func() {
		b.check()
		cancel()
	})
	b.must(chromedp.Listen(b.ctx, b.hear))
	b.call(func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, log.Enable, struct{}{})
		return err
	})
	b.call(func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
		return err
	})
	b.Size(1280, 900)
	return b
}

// Stop ends the browser. Call it from TestMain.
func Stop() { stop() }

func (b *Browser) must(err error) {
	b.T.Helper()
	if err != nil {
		b.T.Fatalf("%v; seen %q", err, b.seen())
	}
}

// call runs an action within patience.
func (b *Browser) call(fn func(ctx context.Context) error) {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	b.must(fn(ctx))
}

// do runs steps in the tab.
func (b *Browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.T.Helper()
	b.call(func(ctx context.Context) error { return chromedp.Do(ctx, steps...) })
}

// hear notes what must not happen. It runs in the loop of the browser's messages.
func (b *Browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	note := func(format string, args ...any) { b.problems = append(b.problems, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *log.EventEntryAdded:
		refused := string(e.Entry.Source) == "network" && b.expected >= 400 // the browser reports statuses as errors
		if string(e.Entry.Source) == "security" || string(e.Entry.Level) == "error" && !refused {
			note("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventConsoleAPICalled:
		if string(e.Type) == "error" {
			note("console error: %v", e.Args)
		}
	case *runtime.EventExceptionThrown:
		note("exception: %s %s", e.ExceptionDetails.Text, e.ExceptionDetails.URL)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
		// The browser draws its own controls with data URLs; the policy forbids them to pages.
		if !strings.HasPrefix(e.Request.URL, b.base) && !strings.HasPrefix(e.Request.URL, "about:") &&
			!strings.HasPrefix(e.Request.URL, "data:image/svg+xml;base64,") {
			note("request to %.200s", e.Request.URL)
		}
	case *network.EventResponseReceived:
		if e.Response.Status >= 500 {
			note("status %d of %s", e.Response.Status, e.Response.URL)
		}
	}
}

func (b *Browser) seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.problems...)
}

// check fails the test for what must not have happened.
func (b *Browser) check() {
	b.T.Helper()
	for _, p := range b.Problems() {
		b.T.Errorf("browser: %s", p)
	}
}

// Problems returns what must not have happened, once.
func (b *Browser) Problems() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.problems
	b.problems = nil
	return out
}

// Requests returns the addresses of all requests.
func (b *Browser) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.requests...)
}

// Expect lets the next pages have an error status.
func (b *Browser) Expect(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.expected = status
}

// Visit opens a path.
func (b *Browser) Visit(path string) {
	b.T.Helper()
	b.steady(func(ctx context.Context) error { return chromedp.Do(ctx, chromedp.Navigate(b.base+path)) })
	if p := b.Problems(); len(p) > 0 {
		b.T.Errorf("%s: %q", path, p)
	}
}

// Size sets the size of the window.
func (b *Browser) Size(width, height int64) {
	b.T.Helper()
	b.do(chromedp.EmulateViewport(width, height))
}

// Prefer sets the color scheme, light or dark, and the language of the user.
func (b *Browser) Prefer(scheme, language string) {
	b.T.Helper()
	b.call(func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		return err
	})
	b.call(func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, network.SetExtraHTTPHeaders,
			network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": json.RawMessage(
				fmt.Sprintf("%q", language))}})
		return err
	})
}

// Scripts switches scripts of pages on or off.
func (b *Browser) Scripts(on bool) {
	b.T.Helper()
	b.call(func(ctx context.Context) error {
		_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: !on})
		return err
	})
}

// SignIn signs in with an API key, through the form.
func (b *Browser) SignIn(key string) {
	b.T.Helper()
	b.Visit("/console/sign-in")
	b.Type("#key", key)
	b.Click("main form button")
	b.Await("nav [aria-current]")
}

// Type types text into a field.
func (b *Browser) Type(selector, text string) {
	b.T.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Click clicks an element and waits for the page that follows.
func (b *Browser) Click(selector string) {
	b.T.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// Enter replaces the text of a field.
func (b *Browser) Enter(selector, text string) {
	b.T.Helper()
	Evaluate[int](b, fmt.Sprintf("{const e = document.querySelector(%q); e.focus(); e.select(); 1}", selector))
	b.Type(selector, text)
}

// Choose sets the value of a field that text cannot be typed into: a date or a list of choices.
func (b *Browser) Choose(selector, value string) {
	b.T.Helper()
	got := Evaluate[string](b, fmt.Sprintf("(() => { const e = document.querySelector(%q); e.value = %q; "+
		"e.dispatchEvent(new Event('change', {bubbles: true})); return e.value; })()", selector, value))
	if got != value {
		b.T.Fatalf("%s of %s has no value %q", selector, b.Path(), value)
	}
}

// Submit clicks a button that sends a form, and waits for the page that follows.
func (b *Browser) Submit(selector string) {
	b.T.Helper()
	Evaluate[int](b, "{window.__before = 1; 1}")
	b.Click(selector)
	end := time.Now().Add(patience)
	for !Evaluate[bool](b, "window.__before === undefined && document.readyState === 'complete'") {
		if time.Now().After(end) {
			b.T.Fatalf("%s: no page follows %s: %.500s", b.Path(), selector, b.Text())
		}
		time.Sleep(pause)
	}
}

// Act clicks the button of an action, and waits for its notice.
func (b *Browser) Act(selector, notice string) {
	b.T.Helper()
	b.Submit(selector)
	if got := Evaluate[string](b, "document.querySelector('.notice')?.innerText ?? ''"); got != notice {
		b.T.Fatalf("%s: the notice after %s is %q, not %q: %.1000s", b.Path(), selector, got, notice, b.Text())
	}
}

// Press presses keys, such as kb.Tab.
func (b *Browser) Press(keys string) {
	b.T.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// Await waits for an element.
func (b *Browser) Await(selector string) {
	b.T.Helper()
	end := time.Now().Add(patience)
	for !Evaluate[bool](b, fmt.Sprintf("document.querySelector(%q) !== null", selector)) {
		if time.Now().After(end) {
			b.T.Fatalf("%s has no %s: %.500s", b.Path(), selector, b.Text())
		}
		time.Sleep(pause)
	}
}

// pause is the time between two looks at a page.
const pause = 20 * time.Millisecond

// Evaluate runs a script of the test in the page, and decodes its result.
func Evaluate[T any](b *Browser, script string) (out T) {
	b.T.Helper()
	b.steady(func(ctx context.Context) (err error) {
		out, err = chromedp.Run(ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
		return err
	})
	return out
}

// moved are parts of the errors of actions during which the page loaded itself again, as that of an open run does.
var moved = []string{"navigated or closed", "context was destroyed", "Cannot find context", "net::ERR_ABORTED"}

// steady runs an action within patience, again if the page moved. The action must not change anything twice.
func (b *Browser) steady(fn func(ctx context.Context) error) {
	b.T.Helper()
	b.call(func(ctx context.Context) error {
		for {
			err := fn(ctx)
			if err == nil || ctx.Err() != nil ||
				!slices.ContainsFunc(moved, func(part string) bool { return strings.Contains(err.Error(), part) }) {
				return err
			}
			time.Sleep(pause)
		}
	})
}

// Text returns the text of the page.
func (b *Browser) Text() string { return Evaluate[string](b, "document.body.innerText") }

// Path returns the path of the page.
func (b *Browser) Path() string {
	b.T.Helper()
	u, err := url.Parse(Evaluate[string](b, "location.href"))
	b.must(err)
	return u.EscapedPath()
}

// Screenshot returns a PNG of the window.
func (b *Browser) Screenshot() (png []byte) {
	b.T.Helper()
	b.call(func(ctx context.Context) (err error) {
		png, err = chromedp.Run(ctx, chromedp.CaptureScreenshot())
		return err
	})
	return png
}

// violation is a rule that a page violates.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// CheckAccessibility runs axe-core on the page.
func (b *Browser) CheckAccessibility() {
	b.T.Helper()
	found := Evaluate[[]violation](b, axe+`;
axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"]})
  .then(r => r.violations.map(v => ({id: v.id, help: v.help,
    nodes: v.nodes.slice(0, 3).map(n => ({html: n.html, failureSummary: n.failureSummary}))})))`)
	for _, v := range found {
		for _, n := range v.Nodes {
			b.T.Errorf("%s: %s: %s: %.200s: %s", b.Path(), v.ID, v.Help, n.HTML, n.Summary)
		}
	}
	if wide := Evaluate[int](
		b,
		"document.documentElement.scrollWidth - document.documentElement.clientWidth",
	); wide > 0 {
		b.T.Errorf("%s: the page is %d pixels wider than the window", b.Path(), wide)
	}
}
