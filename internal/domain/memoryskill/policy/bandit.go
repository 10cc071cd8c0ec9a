package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"cairn/internal/domain/fault"
)

// Constants of the bandit's models. Rewards are between −1 and 1, and states have a length of about 1.
const (
	priorPrecision = 50.0 // of each weight: a skill changes the reward by about 0.2
	noiseVariance  = 0.25 // of a reward: answers are nearly right or wrong
	sharpness      = 8    // power of the similarity with which a skill shares its statistics
	forgetting     = 0.99 // weight of earlier statistics at each update, because the baseline moves
	maxArms        = 256  // skills whose statistics are kept
)

// Bandit chooses by Thompson sampling (Agrawal and Goyal 2013). For each skill it has a Bayesian
// linear model of what the skill contributes to the reward of a decision in a state. A draw of the
// weights of each model scores its skill. A skill shares the statistics of similar skills, so a
// refined skill starts with those of its predecessor. A Bandit is a value: training returns another
// one.
type Bandit struct {
	form  banditForm
	arms  []arm // ascending by ID
	posts *sync.Map
}

// banditForm is the header of a stored bandit.
type banditForm struct {
	Dim         int      `json:"dim"` // D, of a skill's vector; a state has 2·D
	Fuse        string   `json:"fuse,omitempty"`
	Temperature float64  `json:"fuse_temperature,omitempty"`
	Arms        []string `json:"arms"` // IDs of skill versions, ascending
}

// shape returns the form as the shape of a policy, which defines states.
func (f banditForm) shape() Shape {
	return TowerShape(f.Dim, 1).with(Shape{Fuse: f.Fuse, Temperature: f.Temperature})
}

// features is the number of inputs of a model: the state and a constant.
func (f banditForm) features() int { return 2*f.Dim + 1 }

// arm holds the statistics of one skill.
type arm struct {
	id        string
	count     float64   // decisions that chose it
	vector    []float64 // of its description
	precision []float64 // Σ x·xᵀ, the lower triangle by rows
	target    []float64 // Σ reward·x
}

func newBandit(f banditForm, arms []arm) Bandit {
	f.Arms = make([]string, len(arms))
	for i, a := range arms {
		f.Arms[i] = a.id
	}
	return Bandit{form: f, arms: arms, posts: &sync.Map{}}
}

// Vector folds an embedding to the length of the bandit's vectors.
func (b Bandit) Vector(embedding []float32) []float64 { return Fold(embedding, b.form.Dim) }

// State returns the state of a decision.
func (b Bandit) State(span []float64, near [][]float64) []float64 {
	return b.form.shape().State(span, near)
}

// Weights returns the number of the bandit's statistics.
func (b Bandit) Weights() int {
	n := b.form.features()
	return len(b.arms) * (1 + b.form.Dim + n*(n+1)/2 + n)
}

// Choose draws a score for each candidate and takes the largest. A greedy choice takes the largest
// expected rewards. New skills need no exploration bias: what is not known has a wide distribution.
func (b Bandit) Choose(state []float64, candidates []Candidate, how Choice) (Decision, error) {
	if how.K < 1 {
		return Decision{}, fault.Newf(fault.InvalidArgument, "cannot choose %d skills, at least one is required", how.K)
	}
	if len(state) != 2*b.form.Dim {
		return Decision{}, fmt.Errorf("state: %w", wrongLength(len(state), 2*b.form.Dim))
	}
	sorted, err := ordered(candidates, b.form.Dim)
	if err != nil {
		return Decision{}, err
	}
	x := inputs(state)
	if notFinite(x...) {
		return Decision{}, fault.Newf(fault.InvalidArgument, "the state has numbers that are not finite")
	}
	d := Decision{State: slices.Clone(state), Greedy: how.Greedy, Controller: ControllerThompson}
	deviations, scores := make([]float64, len(sorted)), make([]float64, len(sorted))
	how.Key.Purpose = "thompson"
	for i, c := range sorted {
		mean, deviation := b.posterior(c).predict(x)
		d.Candidates, d.Logits = append(d.Candidates, c.ID), append(d.Logits, mean)
		deviations[i], scores[i] = deviation, mean
		if !how.Greedy {
			how.Key.Skill = c.ID
			stream := how.Key.Stream()
			scores[i] += deviation * stream.Normal()
		}
	}
	chosen := TopK(scores, how.K)
	d.LogProb = logProbTop(d.Logits, deviations, chosen)
	for _, i := range chosen {
		d.Chosen = append(d.Chosen, d.Candidates[i])
		d.Value += d.Logits[i]
	}
	return d, nil
}

// ordered returns candidates in ascending order of their IDs.
func ordered(candidates []Candidate, dim int) ([]Candidate, error) {
	if len(candidates) == 0 {
		return nil, fault.Newf(fault.InvalidArgument, "the bank has no skills")
	}
	sorted := slices.SortedFunc(slices.Values(candidates), func(a, b Candidate) int {
		return strings.Compare(a.ID, b.ID)
	})
	for i, c := range sorted {
		if i > 0 && sorted[i-1].ID == c.ID {
			return nil, fault.Newf(fault.InvalidArgument, "duplicate candidate %q", c.ID)
		}
		if len(c.Vector) != dim {
			return nil, fmt.Errorf("skill %q: %w", c.ID, wrongLength(len(c.Vector), dim))
		}
	}
	return sorted, nil
}

func inputs(state []float64) []float64 { return append([]float64{1}, state...) }

// posterior is the distribution of the weights of a model.
type posterior struct {
	vector []float64 // of the skill
	mean   []float64
	factor []float64 // Cholesky factor of the precision, the lower triangle by rows
}

// posterior returns the distribution for a skill, from its statistics and those of similar skills.
func (b Bandit) posterior(c Candidate) posterior {
	if known, there := b.posts.Load(c.ID); there && slices.Equal(known.(posterior).vector, c.Vector) {
		return known.(posterior)
	}
	n := b.form.features()
	p := posterior{vector: c.Vector, mean: make([]float64, n), factor: make([]float64, n*(n+1)/2)}
	for i := range n {
		p.factor[i*(i+1)/2+i] = priorPrecision
	}
	for _, a := range b.arms {
		share := 1.0
		if a.id != c.ID {
			share = math.Pow(max(0, cosine(a.vector, c.Vector)), sharpness)
		}
		if share < 1e-6 {
			continue
		}
		for i, v := range a.precision {
			p.factor[i] += share / noiseVariance * v
		}
		for i, v := range a.target {
			p.mean[i] += share / noiseVariance * v
		}
	}
	factorize(p.factor, n)
	forward(p.factor, p.mean)
	backward(p.factor, p.mean)
	b.posts.Store(c.ID, p)
	return p
}

// predict returns the expected reward for inputs x, and its standard deviation.
func (p posterior) predict(x []float64) (mean, deviation float64) {
	half := slices.Clone(x)
	forward(p.factor, half)
	variance := 0.0
	for i := range x {
		mean += p.mean[i] * x[i]
		variance += half[i] * half[i]
	}
	return mean, math.Sqrt(variance)
}

// factorize replaces a positive definite matrix by its Cholesky factor.
func factorize(m []float64, n int) {
	for i := range n {
		row := m[i*(i+1)/2:]
		for j := range i + 1 {
			other := m[j*(j+1)/2:]
			sum := row[j]
			for k := range j {
				sum -= row[k] * other[k]
			}
			if i == j {
				row[j] = math.Sqrt(sum)
			} else {
				row[j] = sum / other[j]
			}
		}
	}
}

// forward solves L·y = x, backward Lᵀ·y = x; both overwrite x.
func forward(l, x []float64) {
	for i := range x {
		row := l[i*(i+1)/2:]
		for k := range i {
			x[i] -= row[k] * x[k]
		}
		x[i] /= row[i]
	}
}

func backward(l, x []float64) {
	for i := len(x) - 1; i >= 0; i-- {
		row := l[i*(i+1)/2:]
		x[i] /= row[i]
		for k := range i {
			x[k] -= row[k] * x[i]
		}
	}
}

// leastLogProb keeps the log-probability of an improbable choice finite.
const leastLogProb = -30

// logProbTop returns the log-probability that normal draws with these means and deviations are
// largest for chosen, in any order:
//
//	P = ∫ Π_{i∉S} F_i(t) d(1 − Π_{i∈S} (1 − F_i(t)))
//
// where t is the smallest chosen draw. The integral is a sum over 121 quantiles of each chosen draw.
func logProbTop(means, deviations []float64, chosen []int) float64 {
	if len(chosen) >= len(means) {
		return 0
	}
	below := func(i int, t float64) float64 {
		return math.Erfc((means[i]-t)/max(deviations[i], 1e-12)/math.Sqrt2) / 2
	}
	var grid []float64
	for _, i := range chosen {
		for q := -6.0; q <= 6.05; q += 0.1 {
			grid = append(grid, means[i]+q*deviations[i])
		}
	}
	slices.SortFunc(grid, cmp.Compare[float64])
	sum, above, others := 0.0, 1.0, 0.0
	for _, t := range grid {
		nextAbove, nextOthers := 1.0, 1.0
		for i := range means {
			if slices.Contains(chosen, i) {
				nextAbove *= 1 - below(i, t)
			} else {
				nextOthers *= below(i, t)
			}
		}
		sum += (above - nextAbove) * (others + nextOthers) / 2
		above, others = nextAbove, nextOthers
	}
	return max(leastLogProb, min(0, math.Log(sum)))
}

// logProbFirst returns for each of some normal draws the log-probability that it is the largest:
//
//	P_i = ∫ Π_{j≠i} F_j(t) dF_i(t)
//
// The integral is a sum over 49 quantiles of every draw.
func logProbFirst(means, deviations []float64) []float64 {
	n := len(means)
	var grid []float64
	for i := range means {
		for q := -6.0; q <= 6; q += 0.25 {
			grid = append(grid, means[i]+q*deviations[i])
		}
	}
	slices.Sort(grid)
	out, below, others := make([]float64, n), make([]float64, n), make([]float64, n)
	nextBelow, nextOthers := make([]float64, n), make([]float64, n)
	for _, t := range slices.Compact(grid) {
		for i := range means {
			nextBelow[i] = math.Erfc((means[i]-t)/max(deviations[i], 1e-12)/math.Sqrt2) / 2
		}
		left := 1.0
		for i := range means {
			nextOthers[i] = left
			left *= nextBelow[i]
		}
		right := 1.0
		for i := n - 1; i >= 0; i-- {
			nextOthers[i] *= right
			right *= nextBelow[i]
			out[i] += (nextBelow[i] - below[i]) * (others[i] + nextOthers[i]) / 2
		}
		below, nextBelow, others, nextOthers = nextBelow, below, nextOthers, others
	}
	for i, p := range out {
		out[i] = max(leastLogProb, math.Log(p))
	}
	return normalized(out)
}
