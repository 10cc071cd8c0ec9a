package policy

import (
	"fmt"

	"cairn/internal/domain/memoryskill/keyedrand"
)

// Optimizer is the state of a Controller between two updates of a chooser.
type Optimizer interface {
	// Hash identifies the state. Equal states have equal hashes.
	Hash() string
	// Steps returns the number of updates.
	Steps() int
}

// Form describes a kind of chooser.
type Form struct {
	Shape       func(dim, hidden int) Shape // of the recipe, for PPOLearner
	Dim, Hidden int                         // of a new chooser; an existing one keeps its own
	Fuse        string                      // Mean or SimWeighted; empty means unchanged
	Temperature float64                     // of SimWeighted; 0 means the default
}

// Batch is the input of one update.
type Batch struct {
	Steps     []Step               // in time order, episode by episode
	Vectors   map[string][]float64 // of every candidate by ID, as returned by Chooser.Vector
	PPO       PPO
	Key       keyedrand.Key // run and iteration; Purpose is set by the learner
	MaxWeight float64       // bound of importance weights if other choosers made steps; 0 if none did
	MaxKL     float64       // limit of the mean divergence from the given chooser; 0 means no limit
}

// PPOLearner is the controller that trains a Policy by proximal policy optimization with Adam.
type PPOLearner struct{}

// Start keeps a policy with the head and the fusion of f, and otherwise draws new weights.
func (PPOLearner) Start(c Chooser, o Optimizer, f Form, key keyedrand.Key) (Chooser, Optimizer, error) {
	if c == nil {
		shape, err := f.Shape(f.Dim, f.Hidden).Fused(f.Fuse, f.Temperature)
		if err != nil {
			return nil, nil, err
		}
		p, err := NewPolicy(shape, key)
		return p, Adam{}, err
	}
	p, err := policyOf(c)
	if err != nil {
		return nil, nil, err
	}
	has := p.Shape()
	fused, err := has.Fused(f.Fuse, f.Temperature)
	if err != nil {
		return nil, nil, err
	}
	if f.Shape(has.Dim, has.Hidden).with(fused) == has {
		return c, o, nil
	}
	p, err = NewPolicy(f.Shape(f.Dim, f.Hidden).with(fused), key)
	return p, Adam{}, err
}

// Update reweighs the steps of other policies, and trains.
func (PPOLearner) Update(c Chooser, o Optimizer, b Batch) (Chooser, Optimizer, Report, error) {
	p, err := policyOf(c)
	if err != nil {
		return c, o, Report{}, err
	}
	adam, ok := o.(Adam)
	if !ok {
		return c, o, Report{}, fmt.Errorf("the optimizer is a %T, not Adam", o)
	}
	steps := b.Steps
	if b.MaxWeight > 0 {
		if steps, err = Reweigh(p, steps, b.Vectors, b.MaxWeight); err != nil {
			return c, o, Report{}, err
		}
	}
	after, adam, report, err := Update(p, adam, steps, b.Vectors, b.PPO, b.Key)
	if err == nil && b.MaxKL > 0 {
		b.Steps = steps
		after, report.MeanKL, report.Kept, err = limited(p, after, b)
	}
	return after, adam, report, err
}

// Accepts reports whether the decision's state has the length of the policy's states, and its
// probability is that of an ordered choice.
func (PPOLearner) Accepts(c Chooser, d Decision) bool {
	p, err := policyOf(c)
	return err == nil && len(d.State) == 2*p.Shape().Dim && d.Controller == ""
}

// Encode encodes a policy and its optimizer.
func (PPOLearner) Encode(c Chooser, o Optimizer) (chooser, optimizer []byte, err error) {
	p, err := policyOf(c)
	if err != nil {
		return nil, nil, err
	}
	adam, ok := o.(Adam)
	if !ok {
		return nil, nil, fmt.Errorf("the optimizer is a %T, not Adam", o)
	}
	return p.Blob(), adam.Blob(), nil
}

// Decode decodes a policy and its optimizer.
func (PPOLearner) Decode(chooser, optimizer []byte) (Chooser, Optimizer, error) {
	p, err := ParsePolicy(chooser)
	if err != nil {
		return nil, nil, err
	}
	adam, err := ParseAdam(optimizer)
	return p, adam, err
}

func policyOf(c Chooser) (Policy, error) {
	p, ok := c.(Policy)
	if !ok {
		return Policy{}, fmt.Errorf("the chooser is a %T, not a Policy", c)
	}
	return p, nil
}
