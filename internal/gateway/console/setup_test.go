package console_test

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/apptest"
	"cairn/internal/testkit"
)

// bundle is a gateway with its console, and the browser of a person.
type bundle struct {
	*apptest.Bundle
	gateway *httpapi.Gateway
	url     string
	browser *http.Client
}

func setup(t *testing.T, change ...func(*config.Config)) *bundle {
	t.Helper()
	b := &bundle{Bundle: apptest.OpenIdle(t, change...)}
	b.gateway = b.App.Gateway(httpapi.NoMeter)
	server := httptest.NewServer(b.gateway)
	t.Cleanup(server.Close)
	b.url, b.browser = server.URL, browser(t)
	return b
}

// browser is an HTTP client with cookies that does not follow redirects.
func browser(t testing.TB) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	testkit.Must(t, err)
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

func (b *bundle) makeKey(ws access.Workspace, scopes ...access.Scope) (string, access.Key) {
	b.T.Helper()
	key, made, err := b.Keys.Create(b.T.Context(), ws.ID, "test", scopes)
	testkit.Must(b.T, err)
	return key, made
}

// signedIn signs the browser in to the workspace with a scope.
func (b *bundle) signedIn(scope access.Scope) *bundle {
	b.T.Helper()
	key, _ := b.makeKey(b.Workspace, scope)
	b.post("/console/sign-in", url.Values{"key": {key}}).is(http.StatusSeeOther)
	return b
}

// page is a response.
type page struct {
	t      testing.TB
	status int
	header http.Header
	body   string
	path   string
}

// send sends a request as a browser does from a page of the console. Headers are names and values in turn; an empty
// value removes a header.
func (b *bundle) send(method, path string, form url.Values, headers ...string) page {
	b.T.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(context.Background(), method, b.url+path, body)
	testkit.Must(b.T, err)
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i+1] == "" {
			r.Header.Del(headers[i])
		}
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	res, err := b.browser.Do(r)
	testkit.Must(b.T, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	testkit.Must(b.T, err)
	return page{b.T, res.StatusCode, res.Header, string(raw), method + " " + path}
}

// sendBody sends a body as a browser does from a page of the console.
func (b *bundle) sendBody(method, path, contentType string, body io.Reader) page {
	b.T.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, b.url+path, body)
	testkit.Must(b.T, err)
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Content-Type", contentType)
	res, err := b.browser.Do(r)
	testkit.Must(b.T, err)
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	testkit.Must(b.T, err)
	return page{b.T, res.StatusCode, res.Header, string(raw), method + " " + path}
}

func (b *bundle) get(path string, headers ...string) page {
	b.T.Helper()
	return b.send(http.MethodGet, path, nil, headers...)
}

func (b *bundle) post(path string, form url.Values, headers ...string) page {
	b.T.Helper()
	return b.send(http.MethodPost, path, form, headers...)
}

// at returns a path of the workspace.
func (b *bundle) at(path string) string {
	return "/console/w/" + url.PathEscape(b.Workspace.Name) + "/" + path
}

// is checks the status.
func (p page) is(status int) page {
	p.t.Helper()
	if p.status != status {
		p.t.Fatalf("%s: status %d, want %d: %s", p.path, p.status, status, p.text())
	}
	return p
}

// has checks that the page contains texts.
func (p page) has(texts ...string) page {
	p.t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.body, text) && !strings.Contains(p.text(), text) {
			p.t.Errorf("%s: no %q in %s", p.path, text, p.text())
		}
	}
	return p
}

// lacks checks that the page does not contain texts.
func (p page) lacks(texts ...string) page {
	p.t.Helper()
	for _, text := range texts {
		if strings.Contains(p.body, text) {
			p.t.Errorf("%s: %q in %s", p.path, text, p.text())
		}
	}
	return p
}

var (
	tags   = regexp.MustCompile(`<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
)

// text is the visible text.
func (p page) text() string {
	_, main, ok := strings.Cut(p.body, "<main")
	if !ok {
		main = p.body
	}
	return spaces.ReplaceAllString(tags.ReplaceAllString(main, " "), " ")
}

// hidden returns the value of a hidden field.
func (p page) hidden(name string) string {
	p.t.Helper()
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(p.body)
	if m == nil {
		p.t.Fatalf("%s: no field %s", p.path, name)
	}
	return m[1]
}

// actor is a user of the workspace.
func (b *bundle) actor() agent.Actor {
	return agent.Actor{Workspace: b.Workspace.ID, Origin: agent.OriginUser, Op: rand.Text()}
}
