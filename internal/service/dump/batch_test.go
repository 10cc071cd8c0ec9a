package dump_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/dump"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// many adds n memories about a few persons to workspace A.
func (d *dumps) many(n int) {
	d.t.Helper()
	for at := 0; at < n; at += memories.MaxBatched {
		var in []memories.BatchMemory
		for i := at; i < min(at+memories.MaxBatched, n); i++ {
			said := time.Date(2024, 3, 1, 0, i, 0, 0, time.UTC)
			in = append(in, memories.BatchMemory{Type: memory.Personal, Target: fmt.Sprintf("Person %d", i%7),
				NewMemory: memories.NewMemory{Content: fmt.Sprintf("Owns crate %d of %d kites.", i, i%90),
					EventTime: &said}})
		}
		_, err := d.long.AddBatch(d.t.Context(), d.User(), in)
		testkit.Must(d.t, err)
	}
}

// words returns the frequencies of a workspace's words. Keys of conversations depend on the workspace.
func (d *dumps) words(ws access.Workspace) (out string) {
	d.t.Helper()
	testkit.Must(d.t, d.Admin.QueryRow(d.t.Context(), `select (select docs from lex_stats where workspace_id = $1) ||
		' documents: ' || string_agg(format('%s %s', term, df), ',' order by term) from lex_terms
		where workspace_id = $1 and df > 0 and term < 1000000000`, ws.ID).Scan(&out))
	return out
}

var errDied = errors.New("the process died")

// dying returns a store whose transactions fail after some have been committed.
func dying(s store.Dumps, left int) store.Dumps {
	return store.Dumps{Store: s.Intercept(func(_ context.Context, run func() error) error {
		if left == 0 {
			return errDied
		}
		left--
		return run()
	})}
}

// A load that dies between two of its transactions continues under its operation: it reports what a
// load without interruption does, and stores nothing twice.
func TestLoadContinuesWhereItDied(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	d := setup(t)
	d.many(1100)
	file := d.dumped(d.A, dump.Options{})
	c, err := d.Workspace(t.Context(), "c", true)
	testkit.Must(t, err)
	whole := d.User()
	whole.Workspace = c.ID
	want := d.load(whole, file)
	if want.Memories != 1104 || want.Targets != 9 {
		t.Fatalf("loaded %+v", want)
	}
	a, store := d.inB(), d.Service.Store
	for left := 1; ; left++ {
		d.Service.Store = dying(store, left)
		got, err := d.Load(t.Context(), a, strings.NewReader(file))
		if err == nil {
			if left < 4 || got != want {
				t.Errorf("after %d interruptions: %+v, want %+v", left-1, got, want)
			}
			break
		}
		if !errors.Is(err, errDied) {
			t.Fatal(err)
		}
	}
	d.Service.Store = store
	if got := d.dumped(d.B, dump.Options{}); content(got) != content(file) {
		t.Error("it is not what was dumped")
	}
	if d.words(d.B) != d.words(c) {
		t.Error("the index has other frequencies")
	}
	if got := d.load(d.inB(), file); got.Memories != 0 || got.Existing != 1104+9+4 {
		t.Errorf("loaded again %+v", got)
	}
}

// A load that died and is started under another operation skips what is there.
func TestLoadUnderAnotherOperationCompletesALoadThatDied(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.many(700)
	file, store := d.dumped(d.A, dump.Options{}), d.Service.Store
	d.Service.Store = dying(store, 4) // the fourth stores the first of two batches
	if _, err := d.Load(t.Context(), d.inB(), strings.NewReader(file)); !errors.Is(err, errDied) {
		t.Fatal(err)
	}
	d.Service.Store = store
	got := d.load(d.inB(), file)
	if got.Memories == 0 || got.Memories == 704 || got.Identities != 1 {
		t.Errorf("loaded %+v", got)
	}
	if content(d.dumped(d.B, dump.Options{})) != content(file) || d.words(d.A) != d.words(d.B) {
		t.Error("it is not what was dumped")
	}
}

func TestConcurrentLoadsStoreEachMemoryOnce(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.many(600)
	file := d.dumped(d.A, dump.Options{})
	var wait sync.WaitGroup
	results := make([]dump.LoadResult, 3)
	for i := range results {
		a := d.inB()
		wait.Go(func() {
			var err error
			if results[i], err = d.Load(t.Context(), a, strings.NewReader(file)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	total := 0
	for _, r := range results {
		total += r.Memories
	}
	if total != 604 || content(d.dumped(d.B, dump.Options{})) != content(file) || d.words(d.A) != d.words(d.B) {
		t.Errorf("loaded %+v", results)
	}
}

// An embedder that has failed is not asked again for each batch.
func TestLoadAsksABrokenEmbedderOnce(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.many(1000)
	file, broken := d.dumped(d.A, dump.Options{}), &down{}
	d.Service.Embedder = broken
	got := d.load(d.inB(), file)
	if broken.requests != 1 || got.Embedding != 1005 || d.embedded() != 0 {
		t.Errorf("%d requests, loaded %+v", broken.requests, got)
	}
}

func TestLoadFindsEachMemoryFirst(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.many(520)
	d.load(d.inB(), d.dumped(d.A, dump.Options{}))
	for _, i := range []int{0, 1, 89, 333, 499, 500, 519} {
		wants := []memories.Query{{Query: fmt.Sprintf("crate %d", i), Type: memory.Personal,
			Target: fmt.Sprintf("Person %d", i%7)}}
		found, err := d.long.Retrieve(t.Context(), d.inB(), memories.RetrieveArgs{Wants: wants})
		testkit.Must(t, err)
		first, _, _ := strings.Cut(found.Text, "\n")
		if !strings.Contains(first, fmt.Sprintf("Owns crate %d of", i)) {
			t.Errorf("crate %d: found %q", i, first)
		}
	}
}

// Rows of POST /v1/memories, one per line, need no header.
func TestLoadReadsRowsOfMemories(t *testing.T) {
	t.Parallel()
	d := setup(t)
	var rows strings.Builder
	for i := range 510 {
		fmt.Fprintf(&rows, `{"memory_type":"personal","memory_target":"Ann","content":"Owns crate %d.",`+
			`"event_time":"2024-03-01T09:00:00Z","importance":0.5,"metadata":{"n":%d}}`+"\n", i, i)
	}
	rows.WriteString(`{"memory_type":"tool","when_to_use":"web_search","content":"Quote names."}` + "\n" +
		`{"memory_type":"personal","memory_target":"Ann","content":"Owns crate 7."}` + "\n")
	got := d.load(d.inB(), rows.String())
	// existing are the target of the second batch, and crate 7
	if got != (dump.LoadResult{Memories: 511, Targets: 1, Existing: 2, Signature: dump.Unsigned}) {
		t.Errorf("loaded %+v", got)
	}
	entries, err := d.long.List(t.Context(), d.inB(), memory.Filter{Types: []memory.Type{memory.Personal},
		Metadata: memory.Metadata{"n": 509.0}, Limit: 10})
	testkit.Must(t, err)
	if len(entries) != 1 || entries[0].EventTime == nil || entries[0].EventTime.Year() != 2024 ||
		entries[0].Importance != 0.5 || entries[0].Target != "Ann" {
		t.Errorf("entries %+v", entries)
	}
	for what, line := range map[string]string{
		"no time":   `{"memory_type":"personal","content":"x","event_time":"yesterday"}`,
		"long name": `{"memory_type":"personal","memory_target":"` + strings.Repeat("x", 500) + `","content":"x"}`,
		"long text": `{"memory_type":"personal","content":"` + strings.Repeat("x", memory.LongTermBytes+1) + `"}`,
		"a number":  `{"memory_type":"personal","content":"x","memory_target":7}`,
	} {
		_, err := d.Load(t.Context(), d.inB(), strings.NewReader(rows.String()+"\n"+line))
		if f := fault.From(err); err == nil || !strings.Contains(f.Message, "line 514:") || f.Hint == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// What a damaged file breaks is found before the first transaction.
func TestLoadChecksAllLinesFirst(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.many(3)
	lines := strings.Split(strings.TrimSpace(d.dumped(d.A, dump.Options{})), "\n")
	lines = lines[:len(lines)-1]
	at := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"kind":"memory"`) })
	edited := func(old, new string) string {
		out := slices.Clone(lines)
		if out[at] = strings.Replace(out[at], old, new, 1); out[at] == lines[at] {
			t.Fatalf("no %s in %s", old, out[at])
		}
		return sealed(out...)
	}
	for what, file := range map[string]string{
		"an unknown origin": edited(`"origin":"user"`, `"origin":"rumour"`),
		"an unknown action": edited(`"action":"add"`, `"action":"shout"`),
		"version 0":         edited(`"revisions":[{"version":1`, `"revisions":[{"version":0`),
		"a late target":     sealed(append(slices.Clone(lines), lines[1])...),
	} {
		t.Log(what)
		d.refused(file, fault.InvalidArgument, "line ")
	}
}
