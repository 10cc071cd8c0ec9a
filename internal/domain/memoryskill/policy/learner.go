package policy

import (
	"fmt"

	"cairn/internal/domain/memoryskill/keyedrand"
)

// Optimiser is what a Learner keeps between two updates of one chooser.
type Optimiser interface {
	// Hash names the state. Equal states have equal hashes.
	Hash() string
	// Steps counts the updates so far.
	Steps() int
}

// Form is the kind of chooser that is wanted.
type Form struct {
	Shape       func(dim, hidden int) Shape // of the recipe
	Dim, Hidden int                         // of a new chooser; one in force keeps its own
	Fuse        string                      // Mean or SimWeighted; empty is as before
	Temperature float64                     // of SimWeighted; 0 is the default
}

// Batch is what one update learns from.
type Batch struct {
	Steps     []Step               // in time order, episode after episode
	Vectors   map[string][]float64 // of every candidate by id, as Chooser.Vector returns them
	PPO       PPO
	Key       keyedrand.Key // run and iteration; Purpose is set by the learner
	MaxWeight float64       // bound of importance weights when other choosers made steps; 0 when none did
}

// Learner makes choosers, improves them from decisions, and writes and reads them.
// Equal arguments give equal results. PPOLearner is the implementation that Cairn
// ships.
type Learner interface {
	// New makes a chooser that has learnt nothing. Equal keys give equal choosers.
	New(f Form, key keyedrand.Key) (Chooser, Optimiser, error)
	// Reform returns c and o when c has form f, and what New makes otherwise.
	Reform(c Chooser, o Optimiser, f Form, key keyedrand.Key) (Chooser, Optimiser, error)
	// Update learns from a batch. The chooser and the optimiser that come in stay as
	// they are.
	Update(c Chooser, o Optimiser, b Batch) (Chooser, Optimiser, Report, error)
	// Accepts reports whether c can learn from d, which another chooser may have made.
	Accepts(c Chooser, d Decision) bool
	// Encode writes both, to be stored under their hashes.
	Encode(c Chooser, o Optimiser) (chooser, optimiser []byte, err error)
	// Decode reads what Encode wrote.
	Decode(chooser, optimiser []byte) (Chooser, Optimiser, error)
}

// PPOLearner trains a Policy by proximal policy optimisation with Adam.
type PPOLearner struct{}

// New draws a policy's weights.
func (PPOLearner) New(f Form, key keyedrand.Key) (Chooser, Optimiser, error) {
	shape, err := f.Shape(f.Dim, f.Hidden).Fused(f.Fuse, f.Temperature)
	if err != nil {
		return nil, nil, err
	}
	p, err := NewPolicy(shape, key)
	return p, Adam{}, err
}

// Reform keeps a policy that has the head of f and fuses memories as f says.
func (l PPOLearner) Reform(c Chooser, o Optimiser, f Form, key keyedrand.Key) (Chooser, Optimiser, error) {
	p, err := policyOf(c)
	if err != nil {
		return nil, nil, err
	}
	has := p.Shape()
	fused, err := has.Fused(f.Fuse, f.Temperature)
	if err != nil {
		return nil, nil, err
	}
	wanted := f.Shape(has.Dim, has.Hidden)
	wanted.Fuse, wanted.Temperature = fused.Fuse, fused.Temperature
	if wanted == has {
		return c, o, nil
	}
	f.Fuse, f.Temperature = fused.Fuse, fused.Temperature
	return l.New(f, key)
}

// Update weighs steps of other policies, and trains.
func (PPOLearner) Update(c Chooser, o Optimiser, b Batch) (Chooser, Optimiser, Report, error) {
	p, err := policyOf(c)
	if err != nil {
		return c, o, Report{}, err
	}
	adam, ok := o.(Adam)
	if !ok {
		return c, o, Report{}, fmt.Errorf("the optimiser is a %T, not Adam", o)
	}
	steps := b.Steps
	if b.MaxWeight > 0 {
		if steps, err = Reweigh(p, steps, b.Vectors, b.MaxWeight); err != nil {
			return c, o, Report{}, err
		}
	}
	return updated(Update(p, adam, steps, b.Vectors, b.PPO, b.Key))
}

func updated(p Policy, a Adam, r Report, err error) (Chooser, Optimiser, Report, error) {
	return p, a, r, err
}

// Accepts reports whether the decision's state has the length of the policy's.
func (PPOLearner) Accepts(c Chooser, d Decision) bool {
	p, err := policyOf(c)
	return err == nil && len(d.State) == 2*p.Shape().Dim
}

// Encode writes a policy and its optimiser.
func (PPOLearner) Encode(c Chooser, o Optimiser) (chooser, optimiser []byte, err error) {
	p, err := policyOf(c)
	if err != nil {
		return nil, nil, err
	}
	adam, ok := o.(Adam)
	if !ok {
		return nil, nil, fmt.Errorf("the optimiser is a %T, not Adam", o)
	}
	return p.Blob(), adam.Blob(), nil
}

// Decode reads a policy and its optimiser.
func (PPOLearner) Decode(chooser, optimiser []byte) (Chooser, Optimiser, error) {
	p, err := ParsePolicy(chooser)
	if err != nil {
		return nil, nil, err
	}
	adam, err := ParseAdam(optimiser)
	return p, adam, err
}

func policyOf(c Chooser) (Policy, error) {
	p, ok := c.(Policy)
	if !ok {
		return Policy{}, fmt.Errorf("the chooser is a %T, not a Policy", c)
	}
	return p, nil
}
