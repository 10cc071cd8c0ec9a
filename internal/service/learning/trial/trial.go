// Package trial compares a candidate with the active version on held-out conversations. Each
// conversation is played with both, and only a better candidate is promoted.
package trial

import (
	"context"
	"fmt"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/cases"
	"cairn/internal/service/learning/episode"
	"cairn/internal/service/learning/runspec"
)

// Result contains the scores of both sides on a held-out trace.
type Result struct {
	Conversation int64            `json:"conversation"`
	Incumbent    float64          `json:"incumbent"`
	Candidate    float64          `json:"candidate"`
	Known        bool             `json:"known"`
	Outcomes     episode.Outcomes `json:"outcomes,omitzero"` // of both
}

// Step returns the step name of a trial.
func Step(n int) string { return fmt.Sprintf("trial/%04d", n) }

// Side is a version with which a trace is played.
type Side struct {
	Bank   memoryskill.Bank
	Policy policy.Chooser
}

// Play plays a trace greedily with both sides. Their bank, policy and choice replace those of the
// setup.
func Play(ctx context.Context, p episode.Player, how episode.Setup, t episode.Trace,
	incumbent, candidate Side) (out Result, err error) {
	out.Conversation = t.Conversation
	both := [2]episode.Result{}
	for i, side := range []Side{incumbent, candidate} {
		one := how
		one.Step = fmt.Sprintf("%s/%d", how.Step, i)
		one.Bank, one.Policy, one.Fresh = side.Bank, side.Policy, nil
		one.Choose = func(span int) policy.Choice {
			return policy.Choice{K: how.Keeping.K, Greedy: true, Key: keyedrand.Key{Span: span}}
		}
		if both[i], err = p.Play(ctx, one, t); err != nil {
			return out, err
		}
		out.Outcomes = out.Outcomes.Plus(both[i].Outcomes())
	}
	out.Incumbent, out.Candidate, out.Known = pairedMeans(both[0].Questions, both[1].Questions)
	if out.Known { // longer skills have to be worth their tokens
		out.Incumbent, out.Candidate = out.Incumbent-both[0].Cost, out.Candidate-both[1].Cost
	}
	return out, nil
}

// pairedMeans returns the mean scores of two episodes on one trace, over the questions that both
// have scored. So an outage in one episode does not distort the comparison.
func pairedMeans(a, b []episode.QuestionResult) (ofA, ofB float64, known bool) {
	n := 0.0
	for i := range min(len(a), len(b)) {
		if a[i].Scored && b[i].Scored {
			ofA, ofB, n = ofA+a[i].Score, ofB+b[i].Score, n+1
		}
	}
	return ofA / max(1, n), ofB / max(1, n), n > 0
}

// Split holds out the second of every three conversations, so that an edited bank is judged on
// conversations that its designer has not seen.
func Split(conversations []int64) (train, held []int64) {
	for i, id := range conversations {
		if i%3 == 1 {
			held = append(held, id)
		} else {
			train = append(train, id)
		}
	}
	return train, held
}

// ReadTrace reads a held-out conversation with its questions, and records that the run shows it to
// a model.
func ReadTrace(ctx context.Context, tx cases.Tx, ref run.Ref, bank, conversation int64,
	o runspec.SpanOptions) (t episode.Trace, err error) {
	_, questions, err := cases.ByConversation(ctx, tx, bank)
	if err != nil {
		return t, err
	}
	if t, err = episode.ReadTrace(ctx, tx, conversation, questions[conversation], o.Spanning); err != nil {
		return t, err
	}
	return t, tx.Steps().ShownTo(ctx, ref.Run, t.Conversation)
}
