package policy

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"cairn/internal/domain/fault"
)

// Step is a decision with its reward.
type Step struct {
	Decision
	Reward float64
	// Credited reports whether Reward is known. A step without credit has advantage 0, which
	// differs from reward 0, and does not train the critic.
	Credited bool
	// Done ends an episode: later rewards do not affect earlier steps.
	Done bool
	// Weight is the weight of the step; 0 means 1. See Reweigh.
	Weight float64
}

// batch holds steps as matrices and indices.
type batch struct {
	states, skills      matrix
	columns             [][]int // of the candidates, as rows of skills
	chosen              [][]int // indices of candidates
	fresh               [][]bool
	bias                []float64
	old                 []float64 // log π of the choice at the decision
	values              []float64 // of the critic at the decision
	advantages, returns []float64
	credited            []bool
}

// newBatch looks up the candidates of the steps. vectors has the vector of every candidate.
func newBatch(s Shape, steps []Step, vectors map[string][]float64, gamma, lambda float64) (*batch, error) {
	if len(steps) == 0 {
		return nil, fault.Newf(fault.InvalidArgument, "an update needs at least one decision")
	}
	b := &batch{states: newMatrix(len(steps), 2*s.Dim)}
	rows, err := b.table(s, steps, vectors)
	if err != nil {
		return nil, err
	}
	var rewards []float64
	var done []bool
	for t, step := range steps {
		if err := b.add(s, t, step, rows); err != nil {
			return nil, err
		}
		rewards, done = append(rewards, step.Reward), append(done, step.Done)
	}
	b.advantages, b.returns = GAE(rewards, b.values, done, gamma, lambda)
	normalize(b.advantages, b.credited)
	for t, step := range steps {
		if step.Weight != 0 {
			b.advantages[t] *= step.Weight
		}
	}
	return b, nil
}

// table collects the vectors of all candidates, with one row for each distinct skill in the order
// of IDs.
func (b *batch) table(s Shape, steps []Step, vectors map[string][]float64) (map[string]int, error) {
	rows := map[string]int{}
	for _, step := range steps {
		for _, id := range step.Candidates {
			rows[id] = 0
		}
	}
	b.skills = newMatrix(len(rows), s.Dim)
	for i, id := range slices.Sorted(maps.Keys(rows)) {
		vector, there := vectors[id]
		if !there {
			return nil, fault.Newf(fault.NotFound, "no vector for candidate skill %q", id)
		}
		if len(vector) != s.Dim {
			return nil, fmt.Errorf("skill %q: %w", id, wrongLength(len(vector), s.Dim))
		}
		copy(row(b.skills, i), vector)
		rows[id] = i
	}
	return rows, nil
}

func (b *batch) add(s Shape, t int, step Step, rows map[string]int) error {
	switch {
	case len(step.State) != 2*s.Dim:
		return fmt.Errorf("decision %q: state: %w", step.ID, wrongLength(len(step.State), 2*s.Dim))
	case step.Greedy:
		return fault.Newf(fault.InvalidArgument, "decision %q was greedy, but learning requires sampled decisions",
			step.ID)
	case !ascending(step.Candidates):
		return fault.Newf(fault.InvalidArgument, "decision %q: the candidates must be distinct and in ascending order",
			step.ID)
	case notFinite(step.Reward, step.LogProb, step.Value, step.Bias, step.Weight) || step.Weight < 0:
		return fault.Newf(fault.InvalidArgument, "decision %q has a number that is not finite, or a negative weight",
			step.ID)
	}
	chosen, err := step.indices(step.Chosen)
	if err != nil {
		return err
	}
	if len(chosen) == 0 || !validChoice(chosen, len(step.Candidates)) {
		return fault.Newf(fault.InvalidArgument, "decision %q has no choice, or a repeated one", step.ID)
	}
	marked, err := step.indices(step.Fresh)
	if err != nil {
		return err
	}
	fresh, columns := make([]bool, len(step.Candidates)), make([]int, len(step.Candidates))
	for _, i := range marked {
		fresh[i] = true
	}
	for i, id := range step.Candidates {
		columns[i] = rows[id]
	}
	copy(row(b.states, t), step.State)
	b.columns, b.chosen, b.fresh = append(b.columns, columns), append(b.chosen, chosen), append(b.fresh, fresh)
	b.bias, b.old, b.values = append(b.bias, step.Bias), append(b.old, step.LogProb), append(b.values, step.Value)
	b.credited = append(b.credited, step.Credited)
	return nil
}

func ascending(ids []string) bool {
	for i := range ids {
		if i > 0 && ids[i-1] >= ids[i] {
			return false
		}
	}
	return true
}

func notFinite(numbers ...float64) bool {
	for _, x := range numbers {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return true
		}
	}
	return false
}
