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

// divergence is the mean Kullback-Leibler divergence, in nats, of a policy's probabilities of the
// first skill from those of an earlier policy, over the states of steps.
type divergence struct {
	steps   []Step
	vectors map[string][]float64
	before  [][]float64 // log-probabilities of each step
}

func newDivergence(before Policy, steps []Step, vectors map[string][]float64) (*divergence, error) {
	d := &divergence{steps: steps, vectors: vectors, before: make([][]float64, len(steps))}
	for i := range steps {
		var err error
		if d.before[i], err = d.logProbs(before, i); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// logProbs returns the log-probability of each candidate of a step as its first skill, with the
// exploration bias of the decision.
func (d *divergence) logProbs(p Policy, step int) ([]float64, error) {
	one := d.steps[step].Decision
	z, err := p.biased(one, candidatesOf(one, d.vectors))
	if err != nil {
		return nil, err
	}
	total := logSumExp(z, nil)
	for i := range z {
		z[i] -= total
	}
	return z, nil
}

func (d *divergence) of(now Policy) (float64, error) {
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

// limited moves a trained policy back towards the one before, until their mean divergence over the
// states of the batch is at most its limit. It returns the divergence and the share of the change
// that was kept, 0–1.
func limited(before, after Policy, b Batch) (out Policy, kl, share float64, err error) {
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
		tried := before.between(after, middle)
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
