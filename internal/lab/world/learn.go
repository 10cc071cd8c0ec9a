package world

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
	hidden   = 16 // a quarter of production: hundreds of policies are trained
	capacity = memoryskill.DefaultCapacity
)

// standing is a bank with its policy.
type standing struct {
	bank      memoryskill.Bank
	policy    policy.Policy
	optimizer policy.Adam
}

// learner trains and evolves on six conversations and selects on a seventh.
type learner struct {
	Options
	seed       string
	recipe     memoryskill.Recipe
	train      []*trace
	selection  *trace
	refineOnly bool
	cache      *cache
}

// cache holds intermediate results by their inputs. Learning with all edits and with refinements
// only is identical until the first skill is added.
type cache struct {
	improved map[string]standing
	tried    map[string][]episodeResult
}

func (s standing) key() string { return s.bank.Hash() + s.policy.Hash() }

// evolution is the result of learning, with statistics.
type evolution struct {
	standing
	Rounds   int
	Promoted int
	Refused  []string // edits that brought no improvement
	Made     []string // promoted edits
}

func candidates(b memoryskill.Bank, fresh []string) (out []policy.Candidate, vectors map[string][]float64) {
	vectors = map[string][]float64{}
	for _, v := range b.Versions() {
		vectors[v.ID] = folded(lexical.Vector(v.Skill.Description, dims))
		out = append(out, policy.Candidate{ID: v.ID, Vector: vectors[v.ID], Fresh: slices.Contains(fresh, v.ID)})
	}
	return out, vectors
}

// begin returns the seed bank with an untrained policy.
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

// improve trains the policy; the bank does not change.
func (l learner) improve(s standing, stage int, fresh []string) (standing, error) {
	key := fmt.Sprint(s.key(), s.optimizer.Hash(), stage, fresh)
	if known, exists := l.cache.improved[key]; exists {
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
		if s.policy, s.optimizer, _, err = policy.Update(s.policy, s.optimizer, steps, vectors, l.recipe.PPO,
			keyedrand.Key{Run: l.seed, Stage: stage, Iteration: i}); err != nil {
			return s, err
		}
	}
	l.cache.improved[key] = s
	return s, nil
}

// greedy returns a chooser that chooses like production.
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

func (l learner) play(s standing, t *trace) (episodeResult, error) {
	choose, err := s.greedy(l.K)
	if err != nil {
		return episodeResult{}, err
	}
	return play(t, s.bank, choose)
}

// start returns the seed bank with a trained policy.
func (l learner) start() (standing, error) {
	s, err := l.begin()
	if err != nil {
		return s, err
	}
	return l.improve(s, 0, nil)
}

// learn runs the rounds of the designer and trains after each. An edit, with its trained policy,
// replaces the current version only if it is better in a comparison question by question.
func (l learner) learn(from standing) (out evolution, err error) {
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
			break // no more proposals
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
		if !c.Promote || c.Mean < minGain {
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

// minGain is the minimum gain of an edit. With a smaller gain, an additional skill only makes the
// choice harder.
const minGain = 0.005

// gate returns the gate for edits in a simulation. It has few resamples, because it runs hundreds of times.
func gate() designer.Gate {
	g := designer.DefaultGate()
	g.Resamples = 2000
	return g
}

// follow returns the edited bank, with the current policy or a further trained one, whichever is
// better. If the edit alone is harmful, there is no further training, unless it adds a skill, which
// only training can use.
func (l learner) follow(
	s standing,
	edit designer.Round,
	best []episodeResult,
	stage int,
) (standing, []episodeResult, error) {
	s.bank = edit.Bank
	tried, err := l.tryOut(s)
	if err != nil {
		return s, nil, err
	}
	added := slices.ContainsFunc(edit.Changes, func(d memoryskill.Difference) bool {
		return d.Kind == memoryskill.Added
	})
	if !added && mean(tried) < mean(best)-minGain {
		return s, tried, nil
	}
	return l.further(s, tried, stage, memoryskill.Fresh(edit.Changes, l.recipe.AddedOnly))
}

// further trains the policy, and discards the training if it brings no improvement.
func (l learner) further(
	s standing,
	tried []episodeResult,
	stage int,
	fresh []string,
) (standing, []episodeResult, error) {
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

func mean(all []episodeResult) float64 { return stat.Mean(wordsOf(all), nil) }

// tryOut plays the training conversations and then the selection conversation, which is not used
// for training. The selection conversation alone is too small a sample: an edit with a mean gain of
// 0.05 loses on every fourth conversation.
func (l learner) tryOut(s standing) (out []episodeResult, err error) {
	key := s.key()
	if known, exists := l.cache.tried[key]; exists {
		return known, nil
	}
	for _, t := range append(slices.Clip(l.train), l.selection) {
		p, err := l.play(s, t)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	l.cache.tried[key] = out
	return out, nil
}

func wordsOf(all []episodeResult) (out []float64) {
	for _, p := range all {
		for _, a := range p.questions {
			out = append(out, a.words)
		}
	}
	return out
}
