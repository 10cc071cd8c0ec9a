// Package retrieval measures the recall of search on LoCoMo: the share of the turns with the answer
// among the first results. Each conversation has a workspace of its own, and uses the production
// store and search.
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

// Depth is the number of results per search.
const Depth = 20

// Recall is the mean share of a question's evidence in the first results.
type Recall struct {
	At5       float64 `json:"recall_at_5"`
	At10      float64 `json:"recall_at_10"`
	At20      float64 `json:"recall_at_20"`
	Questions int     `json:"questions"`
}

// Table is the recall over all questions and by category.
type Table struct {
	Recall
	Categories map[int]Recall `json:"categories"`
}

// Result is a measurement.
type Result struct {
	Table
	Baseline      Table              `json:"baseline"` // BM25 over single turns
	Conversations map[string]float64 `json:"recall_at_10_by_conversation"`
	// Questions of the measured categories without evidence.
	Skipped     int     `json:"skipped"`
	Embedder    string  `json:"embedder"`
	Dims        int     `json:"dimensions"`
	Turns       int     `json:"turns"`
	TurnsPerSec float64 `json:"ingest_turns_per_second"`
	P50         float64 `json:"p50_ms"`
	P99         float64 `json:"p99_ms"`
}

// Store stores conversations, each in a workspace.
type Store interface {
	MakeWorkspace(ctx context.Context, name string) (int64, error)
	PutConversation(ctx context.Context, ws int64, c transcript.Conversation) error
}

// Finder searches the documents of a workspace.
type Finder interface {
	Find(ctx context.Context, ws int64, r search.Request) ([]search.Result, error)
}

// Cairn contains the services to measure.
type Cairn struct {
	Store    Store
	Finder   Finder
	Embedder string // name of the embedding model
	Dims     int
}

// Measure stores each sample in a new workspace and asks its questions of all categories except the
// adversarial one.
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

// ask returns the sequence numbers of the found turns.
func ask(ctx context.Context, f Finder, ws int64, question string) ([]int, error) {
	found, err := f.Find(ctx, ws, search.Request{Query: question, Kinds: []string{search.KindTurn}, Limit: Depth})
	seqs := make([]int, len(found))
	for i, r := range found {
		seqs[i] = r.FromSeq
	}
	return seqs, err
}

// sums adds up recall: index 0 for all questions, other indexes by category.
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

// mean rounds to the precision that the number of questions allows.
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
