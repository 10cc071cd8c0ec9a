// Package httpsearch measures searches over the HTTP API of a gateway: exact questions among many
// rows, and small subjects in large workspaces.
package httpsearch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"cairn/internal/app"
	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	domainsearch "cairn/internal/domain/search"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/bench/retrieval"
	"cairn/internal/lab/corpus"
	"cairn/internal/service/search"
)

// Bench is a gateway over a temporary database.
type Bench struct {
	app    *app.App
	cairn  retrieval.Cairn
	server *httptest.Server
	keys   map[int64]string // by workspace
	log    func(format string, args ...any)
}

// Open starts a gateway for h. With wordsOnly, no vectors are stored or compared. Close stops it.
func Open(h *app.App, wordsOnly bool, log func(format string, args ...any)) *Bench {
	b := &Bench{app: h, cairn: retrieval.Of(h, wordsOnly), keys: map[int64]string{}, log: log}
	h.Config.RateLimit = 0
	h.Finder, _ = b.cairn.Finder.(search.Finder)
	b.server = httptest.NewServer(h.Gateway(httpapi.NoMeter))
	b.cairn.Finder = b
	return b
}

// Close stops the gateway.
func (b *Bench) Close() { b.server.Close() }

// Row is a line of the result.
type Row struct {
	Name      string  `json:"name"`
	Rows      int     `json:"rows"`
	Questions int     `json:"questions"`
	First     float64 `json:"rank_1"` // share of the questions whose row is the first result
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	Goal      float64 `json:"goal_p50_ms,omitempty"`
}

// Goals.
const (
	goalFirst   = 0.99 // share of rank 1
	goalSubject = 5    // ms in the database
	goalMem0    = 12   // ms over HTTP
)

// Missed names the missed goal, or is empty.
func (r Row) Missed() string {
	switch {
	case r.First < goalFirst:
		return fmt.Sprintf("%s, %d rows: rank 1 in %.3f, goal %.2f", r.Name, r.Rows, r.First, goalFirst)
	case r.Goal > 0 && r.P50 > r.Goal:
		return fmt.Sprintf("%s, %d rows: p50 %.1f ms, goal %.0f ms", r.Name, r.Rows, r.P50, r.Goal)
	}
	return ""
}

// Needles asks 60 exact questions about rows of each vocabulary and size, see the suite needle.
func (b *Bench) Needles(ctx context.Context, sizes []int, vocabularies []string, seed uint64) (rows []Row, err error) {
	report, err := retrieval.Run(ctx, b.cairn, retrieval.Options{Suite: retrieval.Needle, Sizes: sizes,
		Vocabularies: vocabularies, Seed: seed, Log: b.log})
	for _, r := range report.Rows {
		rows = append(rows, Row{Name: "needles, " + r.Name, Rows: r.Size, Questions: r.Questions,
			First: r.Values["RANK 1"], P50: r.Values["P50 MS"], P99: r.Values["P99 MS"]})
	}
	return rows, err
}

// ByWords is not offered over HTTP.
func (b *Bench) ByWords(context.Context, int64, search.Request, int) (domainsearch.WordResult, error) {
	return domainsearch.WordResult{}, fault.New(fault.InvalidArgument, "not offered over HTTP", "call Find")
}

// Find searches memories over HTTP.
func (b *Bench) Find(ctx context.Context, ws int64, r search.Request) ([]index.Result, error) {
	q := url.Values{"q": {r.Query}, "kinds": {index.KindMemory}, "limit": {strconv.Itoa(r.Limit)},
		"targets": r.Targets}
	var out httpapi.SearchResults
	return out.Found, b.send(ctx, ws, http.MethodGet, "/v1/search?"+q.Encode(), nil, &out)
}

// send sends a request with a key of the workspace.
func (b *Bench) send(ctx context.Context, ws int64, method, path string, in, out any) error {
	key, err := b.key(ctx, ws)
	if err != nil {
		return err
	}
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, b.server.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	response, err := b.server.Client().Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: status %d: %s", method, path, response.StatusCode, text)
	}
	return json.Unmarshal(text, out)
}

// key returns the key of a workspace.
func (b *Bench) key(ctx context.Context, ws int64) (key string, err error) {
	if b.keys[ws] == "" {
		b.keys[ws], _, err = b.app.Keys.Create(ctx, ws, "bench", []access.Scope{access.Write})
	}
	return b.keys[ws], err
}

const (
	subjectRows = 100 // of the small subject
	asked       = 100 // questions about it
	warm        = 10
)

// Subject searches a subject with 100 memories in a workspace of size rows: in the database alone, which
// is what the suite growth measures, through the service, and over HTTP.
func (b *Bench) Subject(ctx context.Context, size int, seed uint64) ([]Row, error) {
	rows := corpus.Zipf(seed)
	each := size / subjectRows
	ws, err := b.cairn.Store.MakeWorkspace(ctx, fmt.Sprintf("subject-%d", size))
	if err != nil {
		return nil, err
	}
	if err := b.cairn.Store.Fill(ctx, ws, size, func(from, to int) (docs []index.Doc) {
		for n := from; n < to; n++ {
			d := index.NewDoc(index.KindMemory, int64(n+1), "active", rows.Text(n))
			d.Type = "personal"
			name := fmt.Sprintf("person%d", n%1000)
			if n%each == 0 {
				name = "ben"
			}
			docs = append(docs, d.About(name))
		}
		return docs
	}); err != nil {
		return nil, err
	}
	offset := int64(-1) // documents are numbered in order of the rows; the first question shows from where
	database := func(n int, r search.Request) (bool, error) {
		found, err := b.app.Finder.ByWords(ctx, ws, r, 0)
		if err != nil || len(found.Hits) == 0 {
			return false, err
		}
		if offset < 0 {
			offset = found.Hits[0].Doc - int64(n)
		}
		return found.Hits[0].Doc == offset+int64(n), nil
	}
	text := func(find func(context.Context, int64, search.Request) ([]index.Result, error)) rowSearch {
		return func(n int, r search.Request) (bool, error) {
			found, err := find(ctx, ws, r)
			return len(found) > 0 && found[0].Text == rows.Text(n), err
		}
	}
	var out []Row
	for _, way := range []struct {
		name string
		find rowSearch
		goal float64
	}{
		{"subject of 100 rows, database", database, goalSubject},
		{"subject of 100 rows, service", text(b.app.Finder.Find), 0},
		{"subject of 100 rows, HTTP", text(b.Find), 0},
	} {
		row, err := measure(way.name, size, func(i int) (bool, error) {
			n := i % subjectRows * each
			return way.find(n, search.Request{Query: rows.Question(n), Limit: 10,
				Kinds: []string{index.KindMemory}, Targets: []string{"ben"}})
		})
		if err != nil {
			return out, err
		}
		row.Goal = way.goal
		out = append(out, row)
	}
	return out, nil
}

// rowSearch asks for row n and reports whether it is the first result.
type rowSearch func(n int, r search.Request) (bool, error)

// measure asks questions, the first of them without counting. ask reports whether the first result is
// the right one.
func measure(name string, size int, ask func(i int) (bool, error)) (Row, error) {
	r := Row{Name: name, Rows: size, Questions: asked}
	var took []time.Duration
	firsts := 0
	for i := range warm + asked {
		started := time.Now()
		first, err := ask(i)
		if err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
		if i < warm {
			continue
		}
		if took = append(took, time.Since(started)); first {
			firsts++
		}
	}
	slices.Sort(took)
	r.First = float64(firsts) / asked
	ms := func(p float64) float64 { return float64(took[int(p*float64(len(took)-1))].Microseconds()) / 1000 }
	r.P50, r.P99 = ms(0.5), ms(0.99)
	return r, nil
}

// Mem0 writes size memories of users over mem0's route, and searches those of one user.
func (b *Bench) Mem0(ctx context.Context, size, users int, seed uint64) (Row, error) {
	rows := corpus.Synthetic(seed)
	ws, err := b.cairn.Store.MakeWorkspace(ctx, fmt.Sprintf("mem0-%d", size))
	if err != nil {
		return Row{}, err
	}
	if _, err := b.key(ctx, ws); err != nil { // before it is used from several goroutines
		return Row{}, err
	}
	user := func(n int) string { return fmt.Sprintf("user-%d", n%users) }
	started := time.Now()
	group, adding := errgroup.WithContext(ctx)
	group.SetLimit(4)
	for n := range size {
		group.Go(func() error {
			var out any
			return b.send(adding, ws, http.MethodPost, "/mem0/memories", map[string]any{"user_id": user(n),
				"infer": false, "messages": []map[string]string{{"role": "user", "content": rows.Text(n)}}}, &out)
		})
	}
	if err := group.Wait(); err != nil {
		return Row{}, err
	}
	b.log("mem0: stored %d rows in %.1f s", size, time.Since(started).Seconds())
	r, err := measure("mem0 search with user_id, HTTP", size, func(i int) (bool, error) {
		n := i * size / (warm + asked)
		var out struct{ Results []struct{ Memory string } }
		err := b.send(ctx, ws, http.MethodPost, "/mem0/search", map[string]any{"query": rows.Question(n),
			"filters": map[string]any{"user_id": user(n)}}, &out)
		return err == nil && len(out.Results) > 0 && out.Results[0].Memory == rows.Text(n), err
	})
	r.Goal = goalMem0
	return r, err
}
