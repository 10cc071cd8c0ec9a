package browsertest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"cairn/internal/lab/browsertest"
	"cairn/internal/testkit"
)

// signedIn returns a filled workspace, and a browser that is signed in with all scopes. The test runs in parallel with
// others.
func signedIn(t *testing.T) (*browsertest.Fixture, *browsertest.Browser) {
	t.Helper()
	t.Parallel()
	browsertest.Chromium(t)
	f := browsertest.Fill(t)
	b := browsertest.Open(t, f.URL)
	b.SignIn(f.Key)
	return f, b
}

// shows checks that a page contains texts.
func shows(b *browsertest.Browser, texts ...string) {
	b.T.Helper()
	page := b.Text()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			b.T.Errorf("%s does not show %q: %s", b.Path(), text, page)
		}
	}
}

// hides checks that a page contains none of some texts.
func hides(b *browsertest.Browser, texts ...string) {
	b.T.Helper()
	page := b.Text()
	for _, text := range texts {
		if strings.Contains(page, text) {
			b.T.Errorf("%s shows %q: %s", b.Path(), text, page)
		}
	}
}

// appears loads a page again until it contains a text.
func appears(b *browsertest.Browser, path, text string) {
	b.T.Helper()
	testkit.Eventually(b.T, path+" shows "+text, func() bool {
		b.Visit(path)
		return strings.Contains(b.Text(), text)
	})
}

// ask sends a request to the API.
func ask(f *browsertest.Fixture, method, path, body string) (status int, answer []byte) {
	f.T.Helper()
	r, err := http.NewRequestWithContext(f.T.Context(), method, f.URL+path, strings.NewReader(body))
	testkit.Must(f.T, err)
	r.Header.Set("Authorization", "Bearer "+f.Key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(r)
	testkit.Must(f.T, err)
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	testkit.Must(f.T, err)
	return res.StatusCode, answer
}

// read returns what the API says at a path.
func read[T any](f *browsertest.Fixture, path string) (out T) {
	f.T.Helper()
	status, answer := ask(f, http.MethodGet, path, "")
	if status != http.StatusOK {
		f.T.Fatalf("%s: status %d: %s", path, status, answer)
	}
	testkit.Must(f.T, json.NewDecoder(bytes.NewReader(answer)).Decode(&out))
	return out
}

// find returns the element of a list that matches, and fails the test without one.
func find[T any](t testing.TB, all []T, matches func(T) bool) (out T) {
	t.Helper()
	for _, e := range all {
		if matches(e) {
			return e
		}
	}
	t.Fatalf("there is no such element in %+v", all)
	return out
}

// has reports whether a page has an element.
func has(b *browsertest.Browser, selector string) bool {
	b.T.Helper()
	return browsertest.Evaluate[bool](b, "document.querySelector("+strconv.Quote(selector)+") !== null")
}
