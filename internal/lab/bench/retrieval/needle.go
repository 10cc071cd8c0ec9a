package retrieval

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"cairn/internal/domain/index"
	"cairn/internal/lab/corpus"
	"cairn/internal/service/search"
)

const needles = 60

// Columns of the suites needle and paraphrase.
var placeColumns = []string{"RANK 1", "RANK 1-10", "P50 MS", "P99 MS"}

// document is generated. All are of different times, so that newer ones are no better.
func document(n int, text string) index.Doc {
	d := index.NewDoc(index.KindMemory, int64(n+1), "active", text)
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
	d.Type, d.EventTime = "personal", &at
	return d
}

// pages returns the documents of texts by number.
func pages(text func(n int) string) func(from, to int) []index.Doc {
	return func(from, to int) []index.Doc {
		docs := make([]index.Doc, 0, to-from)
		for n := from; n < to; n++ {
			docs = append(docs, document(n, text(n)))
		}
		return docs
	}
}

// eachVocabulary measures each vocabulary at each size of o, and sets the percentiles of all times.
func (r *Report) eachVocabulary(o Options, measure func(rows corpus.Rows, size int) (timer, error)) error {
	var took timer
	for _, size := range o.Sizes {
		for _, name := range o.Vocabularies {
			rows, err := corpus.Named(name, o.Seed)
			if err != nil {
				return err
			}
			here, err := measure(rows, size)
			if err != nil {
				return fmt.Errorf("%s, %d rows: %w", rows.Title, size, err)
			}
			took = append(took, here...)
		}
	}
	r.P50, r.P99 = took.percentile(0.5), took.percentile(0.99)
	return nil
}

// placed asks a question and adds the rank of a text among the first ten to r. hit is the lowest
// rank that scores.
func (r *Report) placed(ctx context.Context, f Finder, ws int64, took *timer, q Ranked, want string, hit int) error {
	return took.took(func() error {
		found, err := f.Find(ctx, ws, search.Request{Query: q.Text, Limit: 10})
		if err != nil {
			return fmt.Errorf("ask %s: %w", q.ID, err)
		}
		rank := slices.IndexFunc(found, func(one index.Result) bool { return one.Text == want }) + 1
		if q.Ranks = []int{rank}; rank > 0 && rank <= hit {
			q.Score = 1
		}
		r.Ranks = append(r.Ranks, q)
		return nil
	})
}

// placeRow is the row of the questions from a place in r.Ranks on.
func (r *Report) placeRow(name string, size, from int, took timer) {
	ranks := []int{}
	for _, q := range r.Ranks[from:] {
		ranks = append(ranks, q.Ranks...)
	}
	r.Rows = append(r.Rows, Row{Name: name, Size: size, Questions: len(ranks), Values: map[string]float64{
		"RANK 1": rounded(share(ranks, 1)), "RANK 1-10": rounded(share(ranks, 10)),
		"P50 MS": took.percentile(0.5), "P99 MS": took.percentile(0.99)}})
}

// needle asks exact questions about rows of each vocabulary and size.
func needle(ctx context.Context, of Cairn, o Options) (Report, error) {
	r := Report{Metric: "rank 1", Columns: placeColumns}
	err := r.eachVocabulary(o, func(rows corpus.Rows, size int) (timer, error) {
		ws, err := of.fill(ctx, o, rows, size)
		if err != nil {
			return nil, err
		}
		var took timer
		from := len(r.Ranks)
		for i := range needles {
			n := (i*size + size/2) / needles
			q := Ranked{ID: fmt.Sprintf("%s/%d/%d", rows.Name, size, n), Text: rows.Question(n), Group: rows.Name}
			if err := r.placed(ctx, of.Finder, ws, &took, q, rows.Text(n), 1); err != nil {
				return nil, err
			}
		}
		r.placeRow(rows.Title, size, from, took)
		return took, nil
	})
	return r, err
}

// fill stores size rows in a new workspace.
func (of Cairn) fill(ctx context.Context, o Options, rows corpus.Rows, size int) (int64, error) {
	ws, err := of.Store.MakeWorkspace(ctx, fmt.Sprintf("%s-%s-%d", o.Suite, rows.Name, size))
	if err != nil {
		return 0, err
	}
	started := time.Now()
	if err := of.Store.Fill(ctx, ws, size, pages(rows.Text)); err != nil {
		return 0, fmt.Errorf("fill: %w", err)
	}
	o.Log("%s: stored %d rows in %.1f s", rows.Title, size, time.Since(started).Seconds())
	return ws, nil
}

//go:embed testdata/paraphrases.json
var paraphrases []byte

// Pair is a question with the memory that answers it in other words.
type Pair struct {
	ID       string      `json:"id"`
	Language string      `json:"language"`
	Question string      `json:"question"`
	Memory   string      `json:"memory"`
	Synonyms [][2]string `json:"synonyms"` // of a word of the question, a word of the memory
}

// Pairs returns the pairs of the suite paraphrase.
func Pairs() (out []Pair, err error) { return out, json.Unmarshal(paraphrases, &out) }

// paraphrase asks for memories in other words, among generated memories.
func paraphrase(ctx context.Context, of Cairn, o Options) (Report, error) {
	r := Report{Metric: "rank 1-10", Columns: placeColumns}
	pairs, err := Pairs()
	if err != nil {
		return r, err
	}
	others := corpus.Synthetic(o.Seed)
	ws, err := of.Store.MakeWorkspace(ctx, "paraphrase")
	if err != nil {
		return r, err
	}
	size := max(o.Sizes[0], len(pairs))
	if err := of.Store.Fill(ctx, ws, size, pages(func(n int) string {
		if n < len(pairs) {
			return pairs[n].Memory
		}
		return others.Text(n)
	})); err != nil {
		return r, err
	}
	var took timer
	for _, language := range []string{"en", "zh"} {
		var here timer
		from := len(r.Ranks)
		for _, p := range pairs {
			if p.Language != language {
				continue
			}
			q := Ranked{ID: p.ID, Text: p.Question, Group: language}
			if err := r.placed(ctx, of.Finder, ws, &here, q, p.Memory, 10); err != nil {
				return r, err
			}
		}
		r.placeRow(map[string]string{"en": "English", "zh": "Chinese"}[language], size, from, here)
		took = append(took, here...)
	}
	r.P50, r.P99 = took.percentile(0.5), took.percentile(0.99)
	r.DataHash = hash([]any{pairs, size, o.Seed})
	return r, nil
}
