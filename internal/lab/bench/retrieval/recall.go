package retrieval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"cairn/internal/domain/index"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/evaluation"
	"cairn/internal/service/search"
)

// Depth is the number of results per search.
const Depth = 20

// Share is the mean share of a question's evidence in the first results.
type Share struct {
	At5       float64 `json:"recall_at_5"`
	At10      float64 `json:"recall_at_10"`
	At20      float64 `json:"recall_at_20"`
	Questions int     `json:"questions"`
}

// Table is the recall over all questions and by category.
type Table struct {
	Share
	Categories map[string]Share `json:"categories"`
}

// Recall is the result of a suite whose questions have evidence.
type Recall struct {
	Table
	// BM25 over single turns, with the mean length of the conversation; of distractors the recall of
	// search with each conversation alone.
	Baseline      Table              `json:"baseline"`
	Conversations map[string]float64 `json:"recall_at_10_by_conversation"`
	// Questions of the measured categories without evidence.
	Skipped     int     `json:"skipped"`
	Turns       int     `json:"turns"`
	TurnsPerSec float64 `json:"ingest_turns_per_second"`
}

// sample is a conversation with its questions.
type sample struct {
	transcript.Conversation
	questions []question
	skipped   int
}

type question struct {
	id, text, category string
	evidence           []int // sequence numbers
}

// locomoSamples reads a LoCoMo file. Adversarial questions are left out.
func locomoSamples(path string) (out []sample, err error) {
	talks, err := evaluation.OpenLocomo(path)
	for _, s := range talks {
		one := sample{Conversation: s.Conversation}
		for i, q := range s.Questions {
			switch {
			case q.Category == evaluation.Adversarial:
			case len(q.Evidence) == 0:
				one.skipped++
			default:
				one.questions = append(one.questions, question{fmt.Sprintf("%s/%d", s.ID, i+1), q.Text,
					strconv.Itoa(q.Category), q.Evidence})
			}
		}
		out = append(out, one)
	}
	return out, err
}

// longmemevalSamples reads a LongMemEval file. Questions without an answer are left out.
func longmemevalSamples(path string) (out []sample, err error) {
	all, err := evaluation.OpenLongMemEval(path)
	for _, s := range all {
		one := sample{Conversation: s.Conversation}
		if s.Unanswerable() || len(s.Evidence) == 0 {
			one.skipped = 1
		} else {
			kind := s.Kind
			if kind == "" {
				kind = "other"
			}
			one.questions = []question{{s.ID, s.Question, kind, s.Evidence}}
		}
		out = append(out, one)
	}
	return out, err
}

func locomoSuite(ctx context.Context, of Cairn, o Options) (Report, error) {
	return recallSuite(ctx, of, o, locomoSamples)
}

func longmemevalSuite(ctx context.Context, of Cairn, o Options) (Report, error) {
	return recallSuite(ctx, of, o, longmemevalSamples)
}

func recallSuite(ctx context.Context, of Cairn, o Options, read func(string) ([]sample, error)) (Report, error) {
	samples, err := read(o.Data)
	if err != nil {
		return Report{}, err
	}
	r, err := measure(ctx, of, samples, false)
	if err != nil {
		return r, err
	}
	var baseline sums
	for _, s := range samples {
		words := newPlain(s.Messages)
		for _, q := range s.questions {
			found := []turn{}
			for _, seq := range words.find(q.text, Depth) {
				found = append(found, turn{s.ID, seq})
			}
			baseline.add(q, s.ID, found)
		}
	}
	r.Baseline = baseline.table()
	r.DataHash, err = fileHash(o.Data)
	return r, err
}

// distractors compares the recall with all conversations in one workspace with that of each alone.
func distractors(ctx context.Context, of Cairn, o Options) (Report, error) {
	samples, err := locomoSamples(o.Data)
	if err != nil {
		return Report{}, err
	}
	alone, err := measure(ctx, of, samples, false)
	if err != nil {
		return alone, err
	}
	merged, err := measure(ctx, of, samples, true)
	if err != nil {
		return merged, err
	}
	merged.Baseline = alone.Table
	versus, err := Compare(merged, alone)
	merged.Versus = &versus
	if err == nil {
		merged.DataHash, err = fileHash(o.Data)
	}
	return merged, err
}

// measure stores each sample in a workspace of its own, or all in one, and asks its questions.
func measure(ctx context.Context, of Cairn, samples []sample, merged bool) (Report, error) {
	r := Report{Metric: "recall@10", Recall: &Recall{Conversations: map[string]float64{}}}
	workspaces := make([]int64, len(samples))
	var storing time.Duration
	for i, s := range samples {
		name := "retrieval-" + s.ID
		if merged {
			name = "retrieval-merged"
		}
		ws, err := of.Store.MakeWorkspace(ctx, name)
		if err != nil {
			return r, err
		}
		workspaces[i] = ws
		started := time.Now()
		if err := of.Store.PutConversation(ctx, ws, s.Conversation); err != nil {
			return r, fmt.Errorf("store %s: %w", s.ID, err)
		}
		if err := of.Store.Embed(ctx, ws); err != nil {
			return r, fmt.Errorf("embed %s: %w", s.ID, err)
		}
		storing += time.Since(started)
		r.Turns, r.Skipped = r.Turns+len(s.Messages), r.Skipped+s.skipped
	}
	var all sums
	var took timer
	for i, s := range samples {
		var here sums
		for _, q := range s.questions {
			var found []turn
			if err := took.took(func() (err error) {
				found, err = ask(ctx, of.Finder, workspaces[i], q.text)
				return err
			}); err != nil {
				return r, fmt.Errorf("ask %s %q: %w", s.ID, q.text, err)
			}
			all.add(q, s.ID, found)
			r.Ranks = append(r.Ranks, here.add(q, s.ID, found))
		}
		r.Conversations[s.ID] = here.table().At10
	}
	r.Table = all.table()
	r.TurnsPerSec = math.Round(float64(r.Turns) / storing.Seconds())
	r.P50, r.P99 = took.percentile(0.5), took.percentile(0.99)
	return r, nil
}

type turn struct {
	conversation string
	seq          int
}

// ask returns the found turns.
func ask(ctx context.Context, f Finder, ws int64, question string) ([]turn, error) {
	found, err := f.Find(ctx, ws, search.Request{Query: question, Kinds: []string{index.KindTurn}, Limit: Depth})
	turns := make([]turn, len(found))
	for i, r := range found {
		turns[i] = turn{r.Conversation, r.FromSeq}
	}
	return turns, err
}

// sums adds up recall, by category and under "" over all.
type sums map[string]Share

// add counts a question of a conversation and returns its ranks.
func (s *sums) add(q question, conversation string, found []turn) Ranked {
	if *s == nil {
		*s = sums{}
	}
	one := Ranked{ID: q.id, Text: q.text, Group: q.category}
	for _, seq := range q.evidence {
		one.Ranks = append(one.Ranks, slices.Index(found, turn{conversation, seq})+1)
	}
	one.Score = share(one.Ranks, 10)
	for _, of := range []string{"", q.category} {
		n := (*s)[of]
		n.At5 += share(one.Ranks, 5)
		n.At10 += one.Score
		n.At20 += share(one.Ranks, 20)
		n.Questions++
		(*s)[of] = n
	}
	return one
}

// share is the fraction of ranks from 1 to at.
func share(ranks []int, at int) float64 {
	hits := 0
	for _, rank := range ranks {
		if rank > 0 && rank <= at {
			hits++
		}
	}
	return float64(hits) / float64(max(1, len(ranks)))
}

func (s sums) table() Table {
	t := Table{Share: s[""].mean(), Categories: map[string]Share{}}
	for category, of := range s {
		if category != "" {
			t.Categories[category] = of.mean()
		}
	}
	return t
}

func (s Share) mean() Share {
	n := math.Max(1, float64(s.Questions))
	return Share{At5: rounded(s.At5 / n), At10: rounded(s.At10 / n), At20: rounded(s.At20 / n), Questions: s.Questions}
}

// fileHash returns the hash of a file.
func fileHash(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("hash the data: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("hash the data: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
