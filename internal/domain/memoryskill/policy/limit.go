package policy

import "math"

// Limits of one live update.
const (
	// DefaultMaxKL is the default of Batch.MaxKL for updates from live decisions.
	DefaultMaxKL = 0.02
	// halvings is the maximum number of bisections of the step between two sets of weights. They end
	// when the divergence has this share of its limit.
	halvings, closeEnough = 20, 0.99
)

// firsts is a Chooser that knows how probable each candidate is as the first skill of a draw.
type firsts interface {
	Chooser
	// logFirsts returns the log-probability of each candidate of a decision, with the exploration
	// bias of that decision.
	logFirsts(d Decision, candidates []Candidate) ([]float64, error)
}

// divergence is the mean Kullback-Leibler divergence, in nats, of a chooser's probabilities of the
// first skill from those of an earlier chooser, over the states of steps.
type divergence struct {
	steps   []Step
	vectors map[string][]float64
	before  [][]float64 // log-probabilities of each step
}

func newDivergence(before firsts, steps []Step, vectors map[string][]float64) (*divergence, error) {
	d := &divergence{steps: steps, vectors: vectors, before: make([][]float64, len(steps))}
	for i := range steps {
		var err error
		if d.before[i], err = d.logProbs(before, i); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// logProbs returns the log-probability of each candidate of a step as its first skill.
func (d *divergence) logProbs(c firsts, step int) ([]float64, error) {
	one := d.steps[step].Decision
	return c.logFirsts(one, candidatesOf(one, d.vectors))
}

func (d *divergence) of(now firsts) (float64, error) {
	sum := 0.0
	for i, before := range d.before {
		after, err := d.logProbs(now, i)
		if err != nil {
			return 0, err
		}
		for j, p := range before {
			sum += math.Exp(p) * (p - after[j])
		}
	}
	return sum / float64(max(1, len(d.before))), nil
}

// normalized subtracts logSumExp from logits, which become log-probabilities.
func normalized(z []float64) []float64 {
	total := logSumExp(z, nil)
	for i := range z {
		z[i] -= total
	}
	return z
}

// logFirsts implements firsts.
func (p Policy) logFirsts(d Decision, candidates []Candidate) ([]float64, error) {
	z, err := p.biased(d, candidates)
	if err != nil {
		return nil, err
	}
	return normalized(z), nil
}

// limited moves a trained chooser back towards the one before, until their mean divergence over the
// states of the batch is at most its limit. It returns the divergence and the share of the change
// that was kept, 0–1. between returns the chooser with a share of the change.
func limited[C firsts](before, after C, between func(share float64) C, b Batch) (out C, kl, share float64, err error) {
	d, err := newDivergence(before, b.Steps, b.Vectors)
	if err != nil {
		return before, 0, 0, err
	}
	if kl, err = d.of(after); err != nil || kl <= b.MaxKL {
		return after, kl, 1, err
	}
	out, kl = before, 0
	for low, high, n := 0.0, 1.0, 0; n < halvings && kl < closeEnough*b.MaxKL; n++ {
		middle := (low + high) / 2
		tried := between(middle)
		now, err := d.of(tried)
		if err != nil {
			return before, 0, 0, err
		}
		if now > b.MaxKL {
			high = middle
			continue
		}
		low, out, kl, share = middle, tried, now, middle
	}
	return out, kl, share, nil
}

// between returns the policy with a share of the change to another one of the same shape.
func (p Policy) between(after Policy, share float64) Policy {
	tried := Policy{after.shape, make([]float64, len(after.weights))}
	for i, w := range p.weights {
		tried.weights[i] = w + share*(after.weights[i]-w)
	}
	return tried
}
