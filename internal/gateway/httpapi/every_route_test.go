package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/gateway/console"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/testkit"
)

// endpoint is a route with what a request needs to be admitted to it.
type endpoint struct {
	method, path string
	header       map[string]string
}

func (e endpoint) String() string { return e.method + " " + e.path }

const webhookSecret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"

// everything is a gateway that has all optional routes: codec, metrics with a key, console, mem0 at the root, and an
// account whose platform sends events by HTTP.
func everything(t *testing.T, change ...func(*config.Config)) *bundle {
	t.Helper()
	file := filepath.Join(t.TempDir(), "channels.yaml")
	testkit.Must(t, os.WriteFile(file, []byte("accounts:\n  desk: {platform: webhook, secret: "+webhookSecret+
		", url: \"http://127.0.0.1:1\", access: open}\n"), 0o600))
	b := idle(t, append([]func(*config.Config){func(c *config.Config) {
		c.PayloadKeys = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32)))
		c.Metrics, c.Mem0Compat, c.Channels, c.RateLimit, c.BatchBytes = "key", "root", file, 0, 0
	}}, change...)...)
	accounts, err := b.App.OpenAccounts(t.Context())
	testkit.Must(t, err)
	b.App.Webhooks = b.App.WebhookHandler(accounts)
	b.gateway = b.App.Gateway(httpapi.NoMeter)
	server := httptest.NewServer(b.gateway)
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

var (
	literal  = regexp.MustCompile(`"((?:GET|POST|PUT|PATCH|DELETE|OPTIONS) /[^"]*)"`)
	wildcard = regexp.MustCompile(`\{[^}]*\}`)
)

// endpoints returns all routes of all gateways: those of the OpenAPI document, those of the console, those that the
// source of the gateways names, and the few with a computed path.
func (b *bundle) endpoints() (out []endpoint) {
	b.T.Helper()
	patterns := []string{"POST /codec/encode", "POST /codec/decode", "OPTIONS /codec/decode", "GET /codec/{$}",
		"POST /channels/desk/events", "GET /metrics"}
	raw, err := b.gateway.OpenAPI()
	testkit.Must(b.T, err)
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	testkit.Must(b.T, json.Unmarshal(raw, &document))
	for path, operations := range document.Paths {
		for method := range operations {
			patterns = append(patterns, strings.ToUpper(method)+" "+path)
		}
	}
	patterns = append(patterns, console.New(console.Services{}, console.Options{}).Routes()...)
	files, err := filepath.Glob("../*/*.go")
	testkit.Must(b.T, err)
	for _, file := range files {
		source, err := os.ReadFile(file)
		testkit.Must(b.T, err)
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, found := range literal.FindAllStringSubmatch(string(source), -1) {
			patterns = append(patterns, found[1])
			if strings.Contains(file, "mem0api") {
				patterns = append(patterns, strings.Replace(found[1], " /", " /mem0/", 1))
			}
		}
	}
	slices.Sort(patterns)
	cookies := b.cookies()
	ws, err := b.Store.Workspace(b.T.Context(), "other", true)
	testkit.Must(b.T, err)
	other := b.makeKey(ws, access.Admin)
	for _, pattern := range slices.Compact(patterns) {
		method, path, _ := strings.Cut(pattern, " ")
		path = strings.ReplaceAll(path, "{$}", "")
		path = strings.ReplaceAll(path, "{workspace}", url.PathEscape(b.Workspace.Name))
		e := endpoint{method, wildcard.ReplaceAllString(path, "1"),
			map[string]string{"Authorization": "Bearer " + b.key}}
		switch {
		case strings.HasPrefix(path, "/console"):
			e.header = map[string]string{"Cookie": cookies, "Sec-Fetch-Site": "same-origin",
				"Content-Type": "application/x-www-form-urlencoded"}
		case strings.HasPrefix(path, "/codec"), path == "/metrics":
			e.header["Authorization"] = "Bearer " + b.operatorKey(access.Codec, access.Metrics)
		case method == http.MethodDelete: // some remove all that there is
			e.header["Authorization"] = "Bearer " + other
		case path == "/mcp":
			e.header["Accept"] = "application/json, text/event-stream"
		}
		out = append(out, e)
	}
	if len(out) < 300 {
		b.T.Fatalf("%d routes were found", len(out))
	}
	return out
}

// cookies signs in to the console, also to that of operators.
func (b *bundle) cookies() string {
	b.T.Helper()
	var out []string
	for _, key := range []string{b.key, b.operatorKey(access.Support)} {
		res := b.signIn(key, nil)
		if res.StatusCode != http.StatusSeeOther || len(res.Cookies()) == 0 {
			b.T.Fatalf("sign-in has status %d", res.StatusCode)
		}
		for _, c := range res.Cookies() {
			out = append(out, c.Name+"="+c.Value)
		}
	}
	return strings.Join(out, "; ")
}

func (b *bundle) signIn(key string, header map[string]string) *http.Response {
	b.T.Helper()
	r, err := http.NewRequestWithContext(b.T.Context(), http.MethodPost, b.url+"/console/sign-in",
		strings.NewReader(url.Values{"key": {key}}.Encode()))
	testkit.Must(b.T, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	testkit.Must(b.T, err)
	res.Body.Close()
	return res
}
