package reflection

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/memorywrite"
	"cairn/internal/service/promptmemory"
)

// Recall is how often a note was brought back by searches.
type Recall struct {
	Note      memory.Entry
	Relevance float64 // mean over queries, 0 to 1
	Recalls   int
	Queries   int           // different ones
	Days      int           // different ones
	Age       time.Duration // since the last
}

// What a note must have come to before it is looked at, and the score from which
// on it becomes a memory.
const (
	leastRecalls, leastQueries, leastDays = 3, 2, 2
	promotes                              = 0.7
	promotedEach                          = 1  // run: a day adds little to what stands in every prompt
	recallsShown                          = 50 // looked at
)

const (
	manyRecalls, manyQueries, manyDays = 10, 5, 4 // more counts no more
	halfLife                           = 14 * 24 * time.Hour
	richRunes                          = 120 // a note of this length says enough to stand alone
)

// Score weighs what speaks for a note, 0 to 1: relevance, frequency, diversity of
// the queries, recency, spread over days, and how much it says.
func (r Recall) Score() float64 {
	share := func(n, many int) float64 { return min(1, float64(n)/float64(many)) }
	frequency := min(1, math.Log1p(float64(r.Recalls))/math.Log1p(manyRecalls))
	recency := math.Exp2(-float64(r.Age) / float64(halfLife))
	return 0.30*r.Relevance + 0.24*frequency + 0.15*share(r.Queries, manyQueries) + 0.15*recency +
		0.10*share(r.Days, manyDays) +
		0.06*share(utf8.RuneCountInString(r.Note.Content), richRunes)
}

// promote makes a memory of the note that was looked for most, if any was often
// enough. It only adds: what is remembered is never pushed out by a note.
func (s Agent) promote(ctx context.Context, w agentrun.RunView, reason agent.Reason) (n int, err error) {
	if reason != agent.Final && reason != agent.Exhausted {
		return 0, nil
	}
	var found []Recall
	err = s.Store.WithReflections(ctx, w.Run.Workspace, func(ctx context.Context, tx Tx) error {
		found, err = tx.Notes().RecalledNotes(ctx, leastRecalls, leastQueries, leastDays, recallsShown)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("look for notes that are recalled often: %w", err)
	}
	slices.SortStableFunc(found, func(a, b Recall) int { return cmp.Compare(b.Score(), a.Score()) })
	for _, r := range found {
		if r.Score() < promotes || n == promotedEach {
			break
		}
		a := agent.Actor{Workspace: w.Run.Workspace, Origin: agent.OriginReflection, Run: w.Run.Ref.Run,
			Op: w.Run.Op("promote/"+r.Note.ID, 0)}
		if e := r.Note.Evidence; e != nil {
			a.Conversation, a.FromSeq, a.ToSeq = e.Conversation, e.FromSeq, e.ToSeq
		}
		written, err := s.Keeper.Save(ctx, a,
			promptmemory.SaveArgs{Content: r.Note.Content, Store: string(memory.Core)})
		if code := fault.CodeOf(err); err != nil && (fault.Table[code].Retryable || code == fault.Internal) {
			return n, fmt.Errorf("make a memory of note %s: %w", r.Note.ID, err)
		}
		if err == nil && written.Action == memorywrite.Added {
			n++
		}
	}
	return n, nil
}
