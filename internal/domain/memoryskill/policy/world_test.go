package policy

import (
	"fmt"
	"math"
	"slices"
	"sync"

	"cairn/internal/domain/memoryskill/keyedrand"
)

// world is a test environment in which each span needs certain skills. Spans are of six kinds, and
// for each kind three of eight skills are right. A decision is scored by 31 questions about the
// trace, each with a noisy yes or no.
type world struct {
	seed    string
	kinds   [][]float64 // unit centroids
	skills  []Candidate
	right   [][]string // by kind
	vectors map[string][]float64
}

const (
	worldDim    = 48
	worldHidden = 128
	worldKinds  = 6
	worldSkills = 8
	worldChosen = 3
	worldSpans  = 27
	worldBatch  = 4
	worldAsked  = 31
	worldNoise  = 0.45
)

func newWorld(seed string) *world { return newWorldOf(seed, worldSkills) }

// newWorldOf returns a world with a number of skills. Those that are right for a kind are drawn from
// all of them.
func newWorldOf(seed string, skills int) *world {
	stream := keyedrand.Key{Run: seed, Purpose: "world"}.Stream()
	w := &world{seed: seed, vectors: map[string][]float64{}}
	for i := range skills {
		w.addSkill(fmt.Sprintf("skill%d", i), unit(gaussian(&stream)))
	}
	for range worldKinds {
		w.kinds = append(w.kinds, unit(gaussian(&stream)))
		order := make([]int, skills)
		for i := range order {
			order[i] = i
		}
		stream.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		var right []string
		for _, i := range order[:worldChosen] {
			right = append(right, w.skills[i].ID)
		}
		w.right = append(w.right, right)
	}
	return w
}

func (w *world) addSkill(id string, vector []float64) {
	w.skills = append(w.skills, Candidate{ID: id, Vector: vector})
	w.vectors[id] = vector
}

func gaussian(stream *keyedrand.Stream) []float64 {
	v := make([]float64, worldDim)
	for i := range v {
		v[i] = stream.Normal()
	}
	return v
}

func unit(v []float64) []float64 {
	norm := 0.0
	for _, x := range v {
		norm += x * x
	}
	for i := range v {
		v[i] /= math.Sqrt(norm)
	}
	return v
}

// span draws the kind and the state of a span. The memory half of the state is zero.
func (w *world) span(key keyedrand.Key) (kind int, state []float64) {
	key.Purpose = "span"
	stream := key.Stream()
	kind = stream.IntN(len(w.kinds))
	v := slices.Clone(w.kinds[kind])
	for i := range v {
		v[i] += worldNoise * stream.Normal() / math.Sqrt(worldDim)
	}
	return kind, State(unit(v), nil)
}

func (w *world) overlap(kind int, chosen []string) float64 {
	n := 0
	for _, id := range chosen {
		if slices.Contains(w.right[kind], id) {
			n++
		}
	}
	return float64(n) / float64(len(w.right[kind]))
}

// decider returns how a chooser decides among the skills of the world. A policy computes what depends
// only on the skills once.
func (w *world) decider(c Chooser) func(state []float64, how Choice) (Decision, error) {
	policy, ok := c.(Policy)
	if !ok {
		return func(state []float64, how Choice) (Decision, error) { return c.Choose(state, w.skills, how) }
	}
	scorer, err := policy.Scorer(w.skills)
	if err != nil {
		panic(err)
	}
	return scorer.Decide
}

// episode processes one trace and asks questions about it.
func (w *world) episode(c Chooser, key keyedrand.Key, how Choice) Episode {
	decide := w.decider(c)
	e := Episode{Decisions: make([]Decision, worldSpans)}
	overlaps := make([]float64, worldSpans)
	for t := range worldSpans {
		key.Span = t
		kind, state := w.span(key)
		how.Key = key
		d, err := decide(state, how)
		if err != nil {
			panic(err)
		}
		d.ID = fmt.Sprintf("%d/%d", key.Episode, t)
		e.Decisions[t], overlaps[t] = d, w.overlap(kind, d.Chosen)
	}
	key.Span, key.Purpose = 0, "questions"
	stream := key.Stream()
	for q := range worldAsked {
		t := q * worldSpans / worldAsked
		query := Query{Scored: true, Retrieved: []string{e.Decisions[t].ID}}
		if stream.Float64() < 0.2+0.6*overlaps[t] {
			query.Score = 1
		}
		e.Queries = append(e.Queries, query)
	}
	return e
}

// iteration collects a batch with some workers and merges it by episode.
func (w *world) iteration(policy Chooser, iteration, workers int, how Choice) []Episode {
	episodes := make([]Episode, worldBatch)
	next := make(chan int)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for i := range next {
				episodes[i] = w.episode(policy, keyedrand.Key{Run: w.seed, Iteration: iteration, Episode: i}, how)
			}
		})
	}
	for i := range episodes {
		next <- i
	}
	close(next)
	group.Wait()
	return episodes
}

// training is the state of a training run.
type training struct {
	policy    Policy
	optimizer Adam
	ppo       PPO
	credit    Credit
	workers   int
	choice    Choice
}

func (w *world) begin(shape Shape, ppo PPO, credit Credit) *training {
	policy, err := NewPolicy(shape, keyedrand.Key{Run: w.seed})
	if err != nil {
		panic(err)
	}
	return &training{policy: policy, ppo: ppo, credit: credit, workers: 1, choice: Choice{K: worldChosen}}
}

func (w *world) train(t *training, from, to int) {
	for i := from; i < to; i++ {
		steps, err := t.credit.Steps(w.iteration(t.policy, i, t.workers, t.choice))
		if err != nil {
			panic(err)
		}
		t.policy, t.optimizer, _, err = Update(t.policy, t.optimizer, steps, w.vectors, t.ppo,
			keyedrand.Key{Run: w.seed, Iteration: i})
		if err != nil {
			panic(err)
		}
	}
}

// greedy returns the mean overlap of the greedy choice with the right one on held-out spans.
func (w *world) greedy(c Chooser) float64 {
	const spans = 600
	decide := w.decider(c)
	sum := 0.0
	for i := range spans {
		kind, state := w.span(keyedrand.Key{Run: w.seed, Stage: 1, Span: i})
		d, err := decide(state, Choice{K: worldChosen, Greedy: true})
		if err != nil {
			panic(err)
		}
		sum += w.overlap(kind, d.Chosen)
	}
	return sum / spans
}

func (w *world) newcomer() keyedrand.Stream {
	return keyedrand.Key{Run: w.seed, Purpose: "newcomer"}.Stream()
}

// chosenFor returns the share of spans of a kind for which the greedy choice has the skill.
func (w *world) chosenFor(c Chooser, kind int, skill string) float64 {
	decide := w.decider(c)
	chosen, seen := 0.0, 0.0
	for i := range 600 {
		k, state := w.span(keyedrand.Key{Run: w.seed, Stage: 2, Span: i})
		if k != kind {
			continue
		}
		d, err := decide(state, Choice{K: worldChosen, Greedy: true})
		if err != nil {
			panic(err)
		}
		seen++
		if slices.Contains(d.Chosen, skill) {
			chosen++
		}
	}
	return chosen / seen
}
