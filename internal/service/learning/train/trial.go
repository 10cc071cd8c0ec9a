package train

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	banks "cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// TrialResult contains the mean scores of the sides on a held-out trace, over the questions that all of
// them have scored.
type TrialResult struct {
	Conversation int64                    `json:"conversation"`
	Incumbent    float64                  `json:"incumbent"`
	Candidate    float64                  `json:"candidate"`
	All          float64                  `json:"all,omitempty"`   // of all skills; 0 if it was not played
	Fixed        float64                  `json:"fixed,omitempty"` // of the best fixed set; 0 if it was not played
	Known        bool                     `json:"known"`
	Outcomes     learning.EpisodeOutcomes `json:"outcomes,omitzero"` // of the sides that were played
}

// TrialStep returns the step name of a trial.
func TrialStep(n int) string { return fmt.Sprintf("trial/%04d", n) }

// Side is a version with which a trace is played.
type Side struct {
	Bank   memoryskill.Bank
	Policy policy.Chooser
	K      int // skills per span; 0 means as many as in live builds
}

// Sides are a candidate and what it has to beat.
type Sides struct {
	Incumbent Side // what live builds do now
	Candidate Side
	All       Side // all skills for every span; not played if it has no bank
	Fixed     Side // the best fixed set; not played if it has no bank
}

// Against returns the sides of a candidate with all skills of a bank, and with a fixed set of it.
func Against(incumbent, candidate Side, b memoryskill.Bank, fixed []string) Sides {
	side := func(order []string) Side {
		return Side{Bank: b, Policy: policy.Fixed{Chooser: candidate.Policy, Order: order}, K: len(order)}
	}
	return Sides{Incumbent: incumbent, Candidate: candidate, All: side(memoryskill.Prior(b, nil)), Fixed: side(fixed)}
}

// fixedStep is the name of the step that stores the best fixed set of a run.
const fixedStep = "fixed"

// FixedSet returns the k skills of a bank with the highest mean score. The first call of a run
// decides, so that later scores do not change it.
func FixedSet(ctx context.Context, tx store.Tx, ref run.Ref, bankID int64, b memoryskill.Bank, fresh []string,
	k int) ([]string, error) {
	set, found, err := banks.ReadStep[[]string](ctx, tx, ref.Run, fixedStep)
	if err != nil || found {
		return set, err
	}
	stats, err := tx.Banks().SkillStats(ctx, bankID)
	if err != nil {
		return nil, err
	}
	if err := banks.SaveStep(ctx, tx, ref.Run, fixedStep, 0, memoryskill.Best(b, stats, fresh, k)); err != nil {
		return nil, err
	}
	return banks.NeedStep[[]string](ctx, tx, ref.Run, fixedStep) // another attempt may have been first
}

// same reports whether two sides make the same choices. k is the number of skills in live builds.
func (s Side) same(o Side, k int) bool {
	set := func(s Side) string {
		n := cmp.Or(s.K, k)
		if f, fixed := s.Policy.(policy.Fixed); fixed {
			chosen := slices.Clone(f.Order[:min(n, len(f.Order))])
			slices.Sort(chosen)
			return strings.Join(chosen, " ")
		}
		return fmt.Sprintf("%s %d", s.Policy.Hash(), n)
	}
	return s.Bank.Hash() == o.Bank.Hash() && set(s) == set(o)
}

// PlayTrial plays a trace greedily with each side. Sides that make the same choices are played once.
// Bank, policy and choice of a side replace those of the setup.
func PlayTrial(ctx context.Context, p banks.EpisodePlayer, how banks.EpisodeSetup, t banks.EpisodeTrace,
	s Sides) (out TrialResult, err error) {
	out.Conversation = t.Conversation
	sides := []Side{s.Incumbent, s.Candidate}
	if s.All.Bank.Len() > 0 && s.Fixed.Bank.Len() > 0 {
		sides = append(sides, s.All, s.Fixed)
	}
	asked, costs := make([][]banks.QuestionResult, len(sides)), make([]float64, len(sides))
	for i, side := range sides {
		if j := slices.IndexFunc(sides[:i], func(o Side) bool { return side.same(o, how.Keeping.K) }); j >= 0 {
			asked[i], costs[i] = asked[j], costs[j]
			continue
		}
		one := how
		one.Step = fmt.Sprintf("%s/%d", how.Step, i)
		one.Bank, one.Policy, one.Fresh = side.Bank, side.Policy, nil
		one.Choose = func(span int) policy.Choice {
			return policy.Choice{K: cmp.Or(side.K, how.Keeping.K), Greedy: true, Key: keyedrand.Key{Span: span}}
		}
		played, err := p.Play(ctx, one, t)
		if err != nil {
			return out, err
		}
		asked[i], costs[i] = played.Questions, played.Cost
		out.Outcomes = out.Outcomes.Plus(played.Outcomes())
	}
	var means []float64
	means, out.Known = pairedMeans(asked...)
	for i := range means {
		if out.Known { // longer skills have to be worth their tokens
			means[i] -= costs[i]
		}
	}
	out.Incumbent, out.Candidate = means[0], means[1]
	if len(means) > 2 {
		out.All, out.Fixed = means[2], means[3]
	}
	return out, nil
}

// pairedMeans returns the mean score of each episode on one trace, over the questions that all have
// scored. So an outage in one episode does not distort the comparison.
func pairedMeans(episodes ...[]banks.QuestionResult) (means []float64, known bool) {
	means = make([]float64, len(episodes))
	n := 0.0
	for q := 0; ; q++ {
		if slices.ContainsFunc(episodes, func(e []banks.QuestionResult) bool { return q >= len(e) }) {
			break
		}
		if slices.ContainsFunc(episodes, func(e []banks.QuestionResult) bool { return !e[q].Scored }) {
			continue
		}
		n++
		for i, e := range episodes {
			means[i] += e[q].Score
		}
	}
	for i := range means {
		means[i] /= max(1, n)
	}
	return means, n > 0
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

// ReadTrialTrace reads a held-out conversation with its questions, and records that the run shows it to
// a model.
func ReadTrialTrace(ctx context.Context, tx store.Tx, ref run.Ref, bank, conversation int64,
	o banks.SpanOptions) (t banks.EpisodeTrace, err error) {
	_, questions, err := banks.ByConversation(ctx, tx, bank)
	if err != nil {
		return t, err
	}
	if t, err = banks.ReadEpisodeTrace(ctx, tx, conversation, questions[conversation], o.Spanning); err != nil {
		return t, err
	}
	return t, tx.Training().ShownTo(ctx, ref.Run, t.Conversation)
}
