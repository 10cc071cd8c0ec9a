// Package retrieval measures how many of the turns that hold an answer are among
// the first that a search finds: LoCoMo's questions, one workspace for each
// conversation, through the store and the search that everybody uses.
package retrieval

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"cairn/internal/domain/transcript"
	"cairn/internal/service/evaluation/locomo"
	"cairn/internal/service/search"
)

// Depth is how many results are asked for.
const Depth = 20

// Recall is the mean share of a question's evidence among the first results.
type Recall struct {
	At5       float64 `json:"recall_at_5"`
	At10      float64 `json:"recall_at_10"`
	At20      float64 `json:"recall_at_20"`
	Questions int     `json:"questions"`
}

// Table is recall over all questions, and by category.
type Table struct {
	Recall
	Categories map[int]Recall `json:"categories"`
}

// Result is a measurement.
type Result struct {
	Table
	Baseline      Table              `json:"baseline"` // BM25 over single turns
	Conversations map[string]float64 `json:"recall_at_10_by_conversation"`
	// questions of the categories measured that name no turn as evidence
	Skipped     int     `json:"skipped"`
	Embedder    string  `json:"embedder"`
	Dims        int     `json:"dimensions"`
	Turns       int     `json:"turns"`
	TurnsPerSec float64 `json:"ingest_turns_per_second"`
	P50         float64 `json:"p50_ms"`
	P99         float64 `json:"p99_ms"`
}

// Store keeps conversations, each in a workspace.
type Store interface {
	MakeWorkspace(ctx context.Context, name string) (int64, error)
	PutConversation(ctx context.Context, ws int64, c transcript.Conversation) error
}

// Finder is the search of a workspace.
type Finder interface {
	Find(ctx context.Context, ws int64, r search.Request) ([]search.Result, error)
}

// Cairn is what is measured.
type Cairn struct {
	Store    Store
	Finder   Finder
	Embedder string // that its vectors are made with
	Dims     int
}

// Measure stores the samples in workspaces of their own and asks their
// questions, all categories but the adversarial one.
func Measure(ctx context.Context, of Cairn, samples []locomo.Sample) (Result, error) {
	r := Result{Conversations: map[string]float64{}, Embedder: of.Embedder, Dims: of.Dims}
	var ours, baseline sums
	var storing time.Duration
	var took []time.Duration
	for _, s := range samples {
		ws, err := of.Store.MakeWorkspace(ctx, "retrieval-"+s.ID)
		if err != nil {
			return r, err
		}
		started := time.Now()
		if err := of.Store.PutConversation(ctx, ws, s.Conversation); err != nil {
			return r, fmt.Errorf("store %s: %w", s.ID, err)
		}
		storing += time.Since(started)
		r.Turns += len(s.Conversation.Messages)
		words := newPlain(s)
		var here sums
		for _, q := range s.Questions {
			if q.Category == locomo.Adversarial {
				continue
			}
			if len(q.Evidence) == 0 {
				r.Skipped++
				continue
			}
			started := time.Now()
			found, err := ask(ctx, of.Finder, ws, q.Text)
			if err != nil {
				return r, fmt.Errorf("ask %s %q: %w", s.ID, q.Text, err)
			}
			took = append(took, time.Since(started))
			ours.add(q, found)
			here.add(q, found)
			baseline.add(q, words.find(q.Text, Depth))
		}
		r.Conversations[s.ID] = here.table().At10
	}
	r.Table, r.Baseline = ours.table(), baseline.table()
	r.TurnsPerSec = math.Round(float64(r.Turns) / storing.Seconds())
	r.P50, r.P99 = percentile(took, 0.5), percentile(took, 0.99)
	return r, nil
}

// ask returns the seqs of the turns found.
func ask(ctx context.Context, f Finder, ws int64, question string) ([]int, error) {
	found, err := f.Find(ctx, ws, search.Request{Query: question, Kinds: []string{search.KindTurn}, Limit: Depth})
	seqs := make([]int, len(found))
	for i, r := range found {
		seqs[i] = r.FromSeq
	}
	return seqs, err
}

// sums adds recall up: of all questions at 0, of a category at its number.
type sums [locomo.Adversarial]Recall

func (s *sums) add(q locomo.Question, found []int) {
	for _, of := range []*Recall{&s[0], &s[q.Category]} {
		of.At5 += share(q.Evidence, found, 5)
		of.At10 += share(q.Evidence, found, 10)
		of.At20 += share(q.Evidence, found, 20)
		of.Questions++
	}
}

func share(evidence, found []int, at int) float64 {
	hits := 0
	for _, seq := range found[:min(at, len(found))] {
		if slices.Contains(evidence, seq) {
			hits++
		}
	}
	return float64(hits) / float64(len(evidence))
}

func (s sums) table() Table {
	t := Table{Recall: s[0].mean(), Categories: map[int]Recall{}}
	for c := locomo.MultiHop; c < locomo.Adversarial; c++ {
		t.Categories[c] = s[c].mean()
	}
	return t
}

// mean rounds to what the number of questions can tell.
func (r Recall) mean() Recall {
	n := math.Max(1, float64(r.Questions))
	round := func(x float64) float64 { return math.Round(x/n*1e4) / 1e4 }
	return Recall{At5: round(r.At5), At10: round(r.At10), At20: round(r.At20), Questions: r.Questions}
}

func percentile(ds []time.Duration, p float64) float64 {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	return float64(ds[min(len(ds)-1, int(p*float64(len(ds))))].Microseconds()) / 1000
}
