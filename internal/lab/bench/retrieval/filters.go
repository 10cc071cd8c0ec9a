package retrieval

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	domainsearch "cairn/internal/domain/search"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/corpus"
	"cairn/internal/service/search"
)

const (
	filterQueries = 500
	filterK       = 100
	filterPage    = 1000
	talks         = 20
	targets       = 25
)

// filterStart is the time of the first document of the suite filters.
var filterStart = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// filters compares filtered searches with reading every document.
func filters(ctx context.Context, of Cairn, o Options) (Report, error) {
	r := Report{Metric: "equal to brute force", Columns: []string{"EQUAL", "PASSING", "P50 MS", "P99 MS"}}
	rows, err := corpus.Named(o.Vocabularies[0], o.Seed)
	if err != nil {
		return r, err
	}
	var took timer
	for _, size := range o.Sizes {
		one, err := openFiltered(ctx, of, rows, o.Seed, size)
		if err != nil {
			return r, err
		}
		var here timer
		equal, passing := 0.0, 0
		for n := range filterQueries {
			request := one.request(n)
			q := Ranked{ID: fmt.Sprintf("%d/%d", size, n), Text: described(request), Group: "filters"}
			want, kept, err := one.bruteForce(ctx, request)
			if err != nil {
				return r, err
			}
			same := false
			if err := here.took(
				func() (err error) { same, err = one.same(ctx, request, want); return err },
			); err != nil {
				return r, fmt.Errorf("%s: %w", q.Text, err)
			}
			if same {
				q.Score = 1
			}
			equal, passing, r.Ranks = equal+q.Score, passing+kept, append(r.Ranks, q)
		}
		r.Rows = append(r.Rows, Row{Name: rows.Title, Size: size, Questions: filterQueries, Values: map[string]float64{
			"EQUAL": rounded(equal / filterQueries), "PASSING": float64(passing / filterQueries),
			"P50 MS": here.percentile(0.5), "P99 MS": here.percentile(0.99)}})
		took = append(took, here...)
	}
	r.P50, r.P99 = took.percentile(0.5), took.percentile(0.99)
	return r, nil
}

// filtered is a workspace with documents of all kinds.
type filtered struct {
	of    Cairn
	ws    int64
	rows  corpus.Rows
	seed  uint64
	size  int
	talks map[string]int64        // numbers of conversations by name
	docs  []domainsearch.Document // all, as the index holds them
}

func talk(n int) string { return fmt.Sprintf("talk-%d", n) }

func target(n int) string { return fmt.Sprintf("Person%c", 'A'+n) }

func openFiltered(ctx context.Context, of Cairn, rows corpus.Rows, seed uint64, size int) (*filtered, error) {
	f := &filtered{of: of, rows: rows, seed: seed, size: size, talks: map[string]int64{}}
	var err error
	if f.ws, err = of.Store.MakeWorkspace(ctx, fmt.Sprintf("filters-%d", size)); err != nil {
		return nil, err
	}
	for n := range talks {
		c := transcript.Conversation{ID: talk(n), Messages: []transcript.Message{{Role: transcript.User,
			Content: "Good morning.", Time: filterStart}}}
		if err := of.Store.PutConversation(ctx, f.ws, c); err != nil {
			return nil, err
		}
	}
	if err := of.Index.Read(ctx, f.ws, func(ctx context.Context, in index.Reader) (err error) {
		for n := 0; n < talks && err == nil; n++ {
			f.talks[talk(n)], err = in.Conversation(ctx, talk(n))
		}
		return err
	}); err != nil {
		return nil, err
	}
	if err := of.Store.Fill(ctx, f.ws, size, f.page); err != nil {
		return nil, err
	}
	return f, f.readAll(ctx)
}

// page returns documents of all kinds, types, targets, conversations and times.
func (f *filtered) page(from, to int) (out []index.Doc) {
	for n := from; n < to; n++ {
		random := rand.New(rand.NewPCG(f.seed+11, uint64(n)))
		kind := []string{index.KindMemory, index.KindMemory, index.KindTurn, index.KindSkill}[random.IntN(4)]
		d := index.NewDoc(kind, int64(n+1), "active", f.rows.Text(n))
		conversation := f.talks[talk(random.IntN(talks))]
		switch kind {
		case index.KindMemory:
			d.Type = string(search.Types[random.IntN(len(search.Types))])
		case index.KindTurn:
			d.Owner, d.Seq = conversation, n+1
		}
		if kind != index.KindSkill && random.IntN(10) > 0 {
			d = d.About(target(random.IntN(targets)))
		}
		if kind == index.KindTurn || random.IntN(2) == 0 {
			d.Conversation = &conversation
		}
		if random.IntN(20) > 0 {
			at := filterStart.Add(time.Duration(random.IntN(365*24)) * time.Hour)
			d.EventTime = &at
		}
		out = append(out, d)
	}
	return out
}

// readAll reads every document of the workspace.
func (f *filtered) readAll(ctx context.Context) error {
	return f.of.Index.Read(ctx, f.ws, func(ctx context.Context, in index.Reader) error {
		hits, err := in.Candidates(ctx, index.CandidateQuery{Limit: f.size + talks})
		if err != nil {
			return err
		}
		if len(hits) != f.size+talks {
			return fmt.Errorf("%d documents are indexed instead of %d", len(hits), f.size+talks)
		}
		for part := range slices.Chunk(hits, filterPage) {
			ids := make([]int64, len(part))
			for i, h := range part {
				ids[i] = h.Doc
			}
			docs, err := in.Documents(ctx, ids)
			if err != nil {
				return err
			}
			f.docs = append(f.docs, slices.DeleteFunc(docs,
				func(d domainsearch.Document) bool { return d.Rejected })...)
		}
		return nil
	})
}

// request returns the n-th request: each field is filtered with a chance of one half.
func (f *filtered) request(n int) search.Request {
	random := rand.New(rand.NewPCG(f.seed+12, uint64(n)))
	r := search.Request{Query: f.rows.Mixed(n, 2+random.IntN(7), f.size), Limit: 10}
	some := func() bool { return random.IntN(2) == 0 }
	if some() {
		r.Kinds = pick(random, search.Kinds)
	}
	if some() {
		r.Types = pick(random, append([]memory.Type{""}, search.Types...))
	}
	if some() {
		all := make([]string, targets)
		for i := range all {
			all[i] = target(i)
		}
		r.Targets = pick(random, all)
	}
	if random.IntN(4) == 0 {
		r.Conversation = talk(random.IntN(talks))
	}
	if some() {
		r.After = filterStart.Add(time.Duration(random.IntN(300*24)) * time.Hour)
	}
	if some() {
		r.Before = filterStart.Add(time.Duration(301+random.IntN(64)) * 24 * time.Hour)
	}
	return r
}

// pick returns one or two different values.
func pick[T any](random *rand.Rand, of []T) []T {
	first := random.IntN(len(of))
	if random.IntN(2) == 0 {
		return []T{of[first]}
	}
	return []T{of[first], of[(first+1+random.IntN(len(of)-1))%len(of)]}
}

// passes reports whether a document passes the filter of a request, as the reference says it.
func (f *filtered) passes(r search.Request, d domainsearch.Document) bool {
	return (len(r.Kinds) == 0 || slices.Contains(r.Kinds, d.Kind)) &&
		(len(r.Types) == 0 || slices.Contains(r.Types, memory.Type(d.Type))) &&
		(len(r.Targets) == 0 || slices.Contains(r.Targets, d.Target)) &&
		(r.Conversation == "" || d.Conversation == f.talks[r.Conversation]) &&
		(r.After.IsZero() || !d.EventTime.IsZero() && !d.EventTime.Before(r.After)) &&
		(r.Before.IsZero() || !d.EventTime.IsZero() && d.EventTime.Before(r.Before))
}

// bruteForce returns the highest scores of the documents that pass, and how many pass.
func (f *filtered) bruteForce(ctx context.Context, r search.Request) (best []float64, kept int, err error) {
	terms := index.NewDoc(index.KindMemory, 0, "", r.Query).Terms
	var stats index.Statistics
	if err := f.of.Index.Read(ctx, f.ws, func(ctx context.Context, in index.Reader) (err error) {
		stats, err = in.Statistics(ctx, terms)
		return err
	}); err != nil {
		return nil, 0, err
	}
	weights := map[int32]float64{}
	for _, t := range terms {
		df := float64(stats.Terms[t].DF)
		word := domainsearch.Word{IDF: math.Log(1 + (float64(stats.Docs)-df+0.5)/(df+0.5)),
			Name: stats.Terms[t].Speakers > 0}
		weights[t] = word.Weight()
	}
	for _, d := range f.docs {
		if !f.passes(r, d) {
			continue
		}
		kept++
		score := 0.0
		for t, weight := range weights {
			score += weight * float64(d.Terms[t])
		}
		if score > 0 {
			best = append(best, score)
		}
	}
	return highest(best, filterK), kept, nil
}

// same reports whether the index of words returns the best scores, and the search only documents
// that pass.
func (f *filtered) same(ctx context.Context, r search.Request, best []float64) (bool, error) {
	words, err := f.of.Finder.ByWords(ctx, f.ws, r, filterK)
	if err != nil {
		return false, err
	}
	found, err := f.of.Finder.Find(ctx, f.ws, r)
	if err != nil {
		return false, err
	}
	for _, one := range found {
		d := domainsearch.Document{Kind: one.Kind, Type: one.Type, Target: one.Target,
			Conversation: f.talks[one.Conversation]}
		if one.EventTime != nil {
			d.EventTime = *one.EventTime
		}
		if !f.passes(r, d) {
			return false, nil
		}
	}
	return slices.EqualFunc(words.Hits, best, func(h domainsearch.WordHit, score float64) bool {
		return math.Abs(h.Score-score) <= slack*max(1, score)
	}), nil
}

// described writes a request for people.
func described(r search.Request) string {
	when := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return t.Format(time.DateOnly)
	}
	return fmt.Sprintf("%s, kinds %v, types %v, targets %v, conversation %q, %s to %s", r.Query, r.Kinds, r.Types,
		r.Targets, r.Conversation, when(r.After), when(r.Before))
}
