package policy

import (
	"cmp"
	"math"
	"slices"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/keyedrand"
)

// PPO configures how a policy is trained with a batch.
type PPO struct {
	LearningRate float64 `json:"learning_rate"`
	Gamma        float64 `json:"gamma"`        // discount of later rewards, 0–1
	Lambda       float64 `json:"lambda"`       // of GAE, 0–1
	Clip         float64 `json:"clip"`         // ε, limit of the ratio's change
	ValueCoef    float64 `json:"value_coef"`   // of ½(V−G)²
	EntropyCoef  float64 `json:"entropy_coef"` // of the entropy without bias
	ValueClip    float64 `json:"value_clip"`   // limit of the value's change; 0 means no limit
	Epochs       int     `json:"epochs"`       // passes over the batch
	Minibatch    int     `json:"minibatch"`    // decisions of one gradient step
	MaxNorm      float64 `json:"max_norm"`     // of the gradient; 0 means no limit
	TargetKL     float64 `json:"target_kl"`    // ends the update after an epoch beyond it; 0 means never
}

// DefaultPPO returns the configuration that learns from the fewest decisions: ten epochs without a
// KL stop. The log-probability of a whole Top-K changes by more than 0.02 in any useful step. The
// weight of the entropy keeps exploring a large bank: with the published 0.01, a policy of 50 skills
// settles on those that were good first.
func DefaultPPO() PPO {
	return PPO{
		LearningRate: 1e-3, Gamma: 0.99, Lambda: 0.95, Clip: 0.2, ValueCoef: 0.5, EntropyCoef: 0.04,
		Epochs: 10, Minibatch: 32, MaxNorm: 0.5,
	}
}

// Check returns fault.InvalidArgument for options out of range.
func (p PPO) Check() error {
	share := func(x float64) bool { return x >= 0 && x <= 1 } // false for NaN
	if p.Epochs < 1 || p.Minibatch < 1 || !(p.LearningRate > 0) || !(p.Clip > 0) || !share(p.Gamma) ||
		!share(p.Lambda) || notFinite(p.ValueCoef, p.EntropyCoef, p.ValueClip, p.MaxNorm, p.TargetKL) {
		return fault.New(fault.InvalidArgument, "PPO options out of range",
			"use epochs and minibatch of at least 1, learning_rate and clip above 0, gamma and lambda 0 to 1, and "+
				"finite")
	}
	return nil
}

// Report is the result of an update.
type Report struct {
	Decisions int     `json:"decisions"`
	Credited  int     `json:"credited"`
	Epochs    int     `json:"epochs"`     // completed; fewer than configured after a KL stop
	Steps     int     `json:"steps"`      // of the optimizer
	First     Losses  `json:"first"`      // of the first epoch
	Last      Losses  `json:"last"`       // of the last completed epoch
	GradNorm  float64 `json:"grad_norm"`  // mean, before clipping
	StoppedKL bool    `json:"stopped_kl"` // TargetKL ended the update
	// MeanKL is the mean divergence from the policy before, and Kept the share of the change that its
	// limit has left, 0–1. Both are 0 without Batch.MaxKL.
	MeanKL float64 `json:"mean_kl,omitempty"`
	Kept   float64 `json:"kept,omitempty"`
}

// Update trains on one batch of steps in time order, episode by episode. vectors has the vector of
// every candidate by ID. The given policy and optimizer are not modified. Equal arguments give
// equal results, bit for bit on one CPU architecture. key identifies the run and the iteration;
// Update sets key.Purpose.
func Update(policy Policy, optimizer Adam, steps []Step, vectors map[string][]float64, p PPO,
	key keyedrand.Key) (Policy, Adam, Report, error) {
	if err := cmp.Or(policy.shape.Check(), p.Check()); err != nil {
		return policy, optimizer, Report{}, err
	}
	b, err := newBatch(policy.shape, steps, vectors, p.Gamma, p.Lambda)
	if err != nil {
		return policy, optimizer, Report{}, err
	}
	if optimizer.first != nil && len(optimizer.first) != len(policy.weights) {
		return policy, optimizer, Report{}, fault.Newf(fault.InvalidArgument,
			"the optimizer's state belongs to another policy")
	}
	t := newTrainer(policy, optimizer, b, p)
	report := Report{Decisions: len(steps)}
	for _, credited := range b.credited {
		if credited {
			report.Credited++
		}
	}
	key.Purpose = "minibatches"
	stream := key.Stream()
	for range p.Epochs {
		losses := t.epoch(&stream, &report)
		if report.Epochs == 0 {
			report.First = losses
		}
		report.Epochs, report.Last = report.Epochs+1, losses
		if p.TargetKL > 0 && losses.KL > p.TargetKL {
			report.StoppedKL = report.Epochs < p.Epochs
			break
		}
	}
	report.GradNorm /= float64(report.Steps)
	if notFinite(report.GradNorm) || notFinite(t.policy.weights...) {
		return policy, optimizer, report, fault.New(fault.Internal, "the update diverged: its weights are not finite",
			"use a lower learning rate; the policy is unchanged")
	}
	return t.policy, t.optimizer, report, nil
}

// trainer is the state of one Update.
type trainer struct {
	PPO
	batch     *batch
	policy    Policy
	optimizer Adam
	gradient  []float64
	net       *network
	states    matrix // of one minibatch
	order     []int
	buffers   *lossBuffers
}

func newTrainer(policy Policy, optimizer Adam, b *batch, p PPO) *trainer {
	t := &trainer{PPO: p, batch: b, policy: Policy{policy.shape, slices.Clone(policy.weights)},
		gradient: make([]float64, len(policy.weights))}
	t.optimizer = Adam{optimizer.steps, slices.Clone(optimizer.first), slices.Clone(optimizer.second)}
	rows := min(p.Minibatch, b.states.rows)
	t.net = newNetwork(policy.shape, t.policy.weights, t.gradient, rows, b.skills.rows)
	t.states = newMatrix(rows, b.states.cols)
	t.order = make([]int, b.states.rows)
	for i := range t.order {
		t.order[i] = i
	}
	t.buffers = newLossBuffers(b.skills.rows)
	return t
}

// epoch processes the batch once in a new order. Losses are averaged over its minibatches.
func (t *trainer) epoch(stream *keyedrand.Stream, report *Report) Losses {
	stream.Shuffle(len(t.order), func(i, j int) { t.order[i], t.order[j] = t.order[j], t.order[i] })
	var mean Losses
	minibatches := math.Ceil(float64(len(t.order)) / float64(t.Minibatch))
	for some := range slices.Chunk(t.order, t.Minibatch) {
		losses := t.minibatch(some)
		report.GradNorm += clipNorm(t.gradient, t.MaxNorm)
		t.optimizer = t.optimizer.step(t.policy.weights, t.gradient, t.LearningRate)
		report.Steps++
		mean.add(losses, 1/minibatches)
	}
	return mean
}

// minibatch sets the gradient of the mean loss of some steps.
func (t *trainer) minibatch(some []int) Losses {
	states := top(t.states, len(some))
	for i, step := range some {
		copy(row(states, i), row(t.batch.states, step))
	}
	t.net.embedSkills(t.batch.skills)
	logits, values := t.net.forward(states)
	dLogits, dValues := t.net.loss()
	weight := 1 / float64(len(some))
	var mean Losses
	for i, step := range some {
		l := t.loss(t.batch, step, row(logits, i), values.data[i], weight, row(dLogits, i), &dValues.data[i], t.buffers)
		mean.add(l, weight)
	}
	clear(t.gradient)
	t.net.backward()
	return mean
}
