package speed

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"cairn/internal/app"
	"cairn/internal/domain/access"
	"cairn/internal/gateway/httpapi"
)

// Page is the measurement of one page.
type Page struct {
	Name     string  `json:"page"`
	P50      float64 `json:"p50_ms"`
	P95      float64 `json:"p95_ms"`
	KB       float64 `json:"gzip_kb"`
	LimitMS  float64 `json:"limit_ms"`           // of P95; 0 means none
	LimitKB  float64 `json:"limit_kb,omitempty"` // 0 means none
	Requests int     `json:"requests"`
}

// Missed returns which budget the page misses, empty if none.
func (p Page) Missed() string {
	var out []string
	if p.LimitMS > 0 && p.P95 > p.LimitMS {
		out = append(out, fmt.Sprintf("p95 %.0f ms, budget %.0f", p.P95, p.LimitMS))
	}
	if p.LimitKB > 0 && p.KB > p.LimitKB {
		out = append(out, fmt.Sprintf("%.0f KB, budget %.0f", p.KB, p.LimitKB))
	}
	return strings.Join(out, "; ")
}

// budgets.
const (
	listMS     = 150 // a list of 50 rows
	longListMS = 300 // a list of 1,000 rows
	longListKB = 150
	runMS      = 400 // a run with 1,000 calls
	visitKB    = 80  // the first visit
)

// consoleBench is a signed-in browser.
type consoleBench struct {
	url     string
	browser *http.Client
	at      string // path of the workspace
	samples int
}

// RunConsole measures the pages of the web console over tables with many rows, and compares them with their
// budgets.
func RunConsole(ctx context.Context, h *app.App, rows, samples int) ([]Page, error) {
	ws, err := h.Store.Workspace(ctx, "bench", true)
	if err != nil {
		return nil, err
	}
	if err := consoleFill(ctx, h.Config.DatabaseURL, ws.ID, rows); err != nil {
		return nil, err
	}
	server := httptest.NewServer(h.Gateway(httpapi.NoMeter))
	defer server.Close()
	b, visit, err := signIn(ctx, h, ws, server.URL)
	if err != nil {
		return nil, err
	}
	b.samples = samples
	out := []Page{{Name: "first visit", KB: visit, LimitKB: visitKB, Requests: 1}}
	for _, p := range []Page{
		{Name: ""}, {Name: "inbox", LimitMS: listMS}, {Name: "skills", LimitMS: listMS},
		{Name: "conversations", LimitMS: listMS}, {Name: "memories", LimitMS: listMS}, {Name: "runs", LimitMS: listMS},
		{Name: "audit", LimitMS: listMS}, {Name: "outbox", LimitMS: listMS}, {Name: "usage"},
		{Name: "memories?as_of=2100-01-01", LimitMS: listMS},
		{Name: "conversations?limit=1000", LimitMS: longListMS, LimitKB: longListKB},
		{Name: "memories?limit=1000", LimitMS: longListMS, LimitKB: longListKB},
		{Name: "runs?limit=1000", LimitMS: longListMS, LimitKB: longListKB},
		{Name: "runs/" + longRun, LimitMS: runMS},
	} {
		if p, err = b.measure(ctx, p); err != nil {
			return out, err
		}
		out = append(out, p)
	}
	return out, nil
}

// signIn opens the sign-in page, signs in and opens the overview as a browser does. It returns the compressed size of
// all that was loaded, in KB.
func signIn(ctx context.Context, h *app.App, ws access.Workspace, base string) (*consoleBench, float64, error) {
	key, _, err := h.Keys.Create(ctx, ws.ID, "bench", []access.Scope{access.Admin})
	if err != nil {
		return nil, 0, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, 0, err
	}
	b := &consoleBench{url: base, browser: &http.Client{Jar: jar}, at: "/console/w/" + ws.Name + "/"}
	page, size, err := b.load(ctx, "/console/sign-in")
	if err != nil {
		return nil, 0, err
	}
	for _, m := range assets.FindAllStringSubmatch(page, -1) {
		_, more, err := b.load(ctx, m[1])
		if err != nil {
			return nil, 0, err
		}
		size += more
	}
	form := url.Values{"key": {key}}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/console/sign-in", strings.NewReader(form))
	if err != nil {
		return nil, 0, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	overview, more, err := b.send(r)
	if err == nil && !strings.Contains(overview, "sign-out") {
		err = fmt.Errorf("signing in failed: %.300s", overview)
	}
	return b, size + more, err
}

// assets are the files that a page loads.
var assets = regexp.MustCompile(`(?:src|href)="(/console/static/[^"]+)"`)

func (b *consoleBench) load(ctx context.Context, path string) (body string, kb float64, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+path, nil)
	if err != nil {
		return "", 0, err
	}
	return b.send(r)
}

// send returns a body, and its compressed size in KB.
func (b *consoleBench) send(r *http.Request) (body string, kb float64, err error) {
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := b.browser.Do(r)
	if err != nil {
		return "", 0, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %.300s", r.URL.Path, res.StatusCode, raw)
	}
	if err != nil {
		return "", 0, err
	}
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	_, _ = w.Write(raw)
	err = w.Close()
	return string(raw), float64(small.Len()) / 1024, err
}

// measure loads a page once to warm up, and then as often as asked.
func (b *consoleBench) measure(ctx context.Context, p Page) (Page, error) {
	var times []float64
	for i := range b.samples + 1 {
		began := time.Now()
		_, kb, err := b.load(ctx, b.at+p.Name)
		if err != nil {
			return p, err
		}
		if i > 0 {
			times = append(times, float64(time.Since(began).Microseconds())/1000)
		}
		p.KB = kb
	}
	slices.Sort(times)
	p.P50, p.P95 = times[len(times)/2], times[len(times)*95/100]
	p.Requests = b.samples
	if p.Name == "" {
		p.Name = "overview"
	}
	return p, nil
}
