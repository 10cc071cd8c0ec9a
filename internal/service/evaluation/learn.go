package evaluation

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat"

	"cairn/internal/domain/lexical"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
)

const (
	hidden   = 16 // a quarter of the program's: hundreds of policies are trained
	capacity = memoryskill.DefaultCapacity
)

// standing is a bank with the policy that chooses from it.
type standing struct {
	bank      memoryskill.Bank
	policy    policy.Policy
	optimiser policy.Adam
}

// learner trains and evolves on six conversations and judges on a seventh.
type learner struct {
	Options
	seed       string
	recipe     memoryskill.Recipe
	train      []*trace
	selection  *trace
	refineOnly bool
	done       *done
}

// done is what was worked out, by all that it depends on: learning with all edits
// and with refinements alone go the same way until a skill is added.
type done struct {
	improved map[string]standing
	tried    map[string][]played
}

func (s standing) key() string { return s.bank.Hash() + s.policy.Hash() }

// learnt is what it came to, with how it went.
type learnt struct {
	standing
	Rounds   int
	Promoted int
	Refused  []string // edits that made nothing better
	Made     []string // edits in force
}

func candidates(b memoryskill.Bank, fresh []string) (out []policy.Candidate, vectors map[string][]float64) {
	vectors = map[string][]float64{}
	for _, v := range b.Versions() {
		vectors[v.ID] = folded(lexical.Vector(v.Skill.Description, dims))
		out = append(out, policy.Candidate{ID: v.ID, Vector: vectors[v.ID], Fresh: slices.Contains(fresh, v.ID)})
	}
	return out, vectors
}

// begin is the seed bank with a policy that knows nothing.
func (l learner) begin() (s standing, err error) {
	if s.bank, err = memoryskill.SeedBank(capacity, true); err != nil {
		return s, err
	}
	shape, err := l.shape(l.recipe.Shape(memoryskill.PolicyDims, hidden))
	if err != nil {
		return s, err
	}
	s.policy, err = policy.NewPolicy(shape, keyedrand.Key{Run: l.seed})
	return s, err
}

// improve trains the policy on a bank that stays as it is.
func (l learner) improve(s standing, stage int, fresh []string) (standing, error) {
	key := fmt.Sprint(s.key(), s.optimiser.Hash(), stage, fresh)
	if known, there := l.done.improved[key]; there {
		return known, nil
	}
	of, vectors := candidates(s.bank, fresh)
	for i := range l.Iterations {
		scorer, err := s.policy.Scorer(of)
		if err != nil {
			return s, err
		}
		order := slices.Clone(l.train)
		draw := keyedrand.Key{Run: l.seed, Stage: stage, Iteration: i, Purpose: "traces"}.Stream()
		draw.Shuffle(len(order), func(a, b int) { order[a], order[b] = order[b], order[a] })
		var episodes []policy.Episode
		for e, t := range order[:min(l.Episodes, len(order))] {
			p, err := play(t, s.bank, func(n int, state []float64) (policy.Decision, error) {
				key := keyedrand.Key{Run: l.seed, Stage: stage, Iteration: i, Episode: e, Span: n}
				return scorer.Decide(state, policy.Choice{K: l.K, Exploration: l.recipe.Exploration, Since: i,
					Key: key})
			})
			if err != nil {
				return s, err
			}
			episodes = append(episodes, p.episode)
		}
		steps, err := l.recipe.Credit.Steps(episodes)
		if err != nil {
			return s, err
		}
		if s.policy, s.optimiser, _, err = policy.Update(s.policy, s.optimiser, steps, vectors, l.recipe.PPO,
			keyedrand.Key{Run: l.seed, Stage: stage, Iteration: i}); err != nil {
			return s, err
		}
	}
	l.done.improved[key] = s
	return s, nil
}

// greedy chooses as in production.
func (s standing) greedy(k int) (chooser, error) {
	of, _ := candidates(s.bank, nil)
	scorer, err := s.policy.Scorer(of)
	if err != nil {
		return nil, err
	}
	return func(n int, state []float64) (policy.Decision, error) {
		return scorer.Decide(state, policy.Choice{K: k, Greedy: true, Key: keyedrand.Key{Span: n}})
	}, nil
}

func (l learner) play(s standing, t *trace) (played, error) {
	choose, err := s.greedy(l.K)
	if err != nil {
		return played{}, err
	}
	return play(t, s.bank, choose)
}

// start is the seed bank with a policy that was trained on it.
func (l learner) start() (standing, error) {
	s, err := l.begin()
	if err != nil {
		return s, err
	}
	return l.improve(s, 0, nil)
}

// learn has the designer edit the bank for each round, and trains on. An edit with
// the policy that was trained on it replaces what is in force only when it is
// better, question by question.
func (l learner) learn(from standing) (out learnt, err error) {
	out.standing = from
	best, err := l.tryOut(out.standing)
	if err != nil {
		return out, err
	}
	for round := range l.Rounds {
		edit, err := l.design(out.bank, best, out.Refused)
		if err != nil {
			return out, err
		}
		if edit == nil {
			break // nothing is left to propose
		}
		out.Rounds++
		next, tried, err := l.follow(out.standing, *edit, best, round+1)
		if err != nil {
			return out, err
		}
		c, err := gate().Compare(wordsOf(tried), wordsOf(best))
		if err != nil {
			return out, err
		}
		made := designer.Describe(edit.Changes)
		if !c.Promote || c.Mean < leastGain {
			out.Refused = append(out.Refused, made)
			continue
		}
		out.standing, best, out.Refused = next, tried, nil
		out.Promoted++
		out.Made = append(out.Made, fmt.Sprintf("%s (%+.3f)", made, c.Mean))
	}
	out.standing, _, err = l.further(out.standing, best, l.Rounds+1, nil)
	return out, err
}

// leastGain is what an edit has to be worth: one that is worth less makes the
// choice harder for nothing.
const leastGain = 0.005

// gate is the program's, with fewer resamples: it is asked hundreds of times.
func gate() designer.Gate {
	g := designer.DefaultGate()
	g.Resamples = 2000
	return g
}

// follow is the edited bank with the policy as it is, unless training goes on and
// does better. Only the first tells what the edit does by itself, and when that is
// harm, the second is spared; a skill that was added is not known to the policy
// without it.
func (l learner) follow(s standing, edit designer.Round, best []played, stage int) (standing, []played, error) {
	s.bank = edit.Bank
	tried, err := l.tryOut(s)
	if err != nil {
		return s, nil, err
	}
	added := slices.ContainsFunc(edit.Changes, func(d memoryskill.Difference) bool {
		return d.Kind == memoryskill.Added
	})
	if !added && mean(tried) < mean(best)-leastGain {
		return s, tried, nil
	}
	return l.further(s, tried, stage, memoryskill.Fresh(edit.Changes, l.recipe.AddedOnly))
}

// further trains on, and goes back when that did no good.
func (l learner) further(s standing, tried []played, stage int, fresh []string) (standing, []played, error) {
	trained, err := l.improve(s, stage, fresh)
	if err != nil {
		return s, nil, err
	}
	after, err := l.tryOut(trained)
	if err != nil {
		return s, nil, err
	}
	if mean(after) > mean(tried) {
		return trained, after, nil
	}
	return s, tried, nil
}

func mean(all []played) float64 { return stat.Mean(wordsOf(all), nil) }

// tryOut plays the training conversations and then the one for selection, on
// which nothing was learnt. One alone is too few: an edit that is worth 0.05 on
// average loses on every fourth conversation.
func (l learner) tryOut(s standing) (out []played, err error) {
	key := s.key()
	if known, there := l.done.tried[key]; there {
		return known, nil
	}
	for _, t := range append(slices.Clip(l.train), l.selection) {
		p, err := l.play(s, t)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	l.done.tried[key] = out
	return out, nil
}

func wordsOf(all []played) (out []float64) {
	for _, p := range all {
		for _, a := range p.asked {
			out = append(out, a.words)
		}
	}
	return out
}
