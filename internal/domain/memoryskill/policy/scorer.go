package policy

import (
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// Candidate is a skill that can be chosen.
type Candidate struct {
	ID     string    // of the skill version
	Vector []float64 // of its description, D
	Fresh  bool      // added or refined recently: gets the exploration bias
}

// Scorer scores candidates with a policy. It computes the parts that depend only on the candidates
// once. It is not safe for concurrent use; create one for each worker.
type Scorer struct {
	net      *network
	ids      []string
	fresh    []bool
	freshIDs []string
	state    matrix
}

// Scorer returns a Scorer for candidates, in any order.
func (p Policy) Scorer(candidates []Candidate) (*Scorer, error) {
	if err := p.shape.Check(); err != nil {
		return nil, err
	}
	sorted, err := ordered(candidates, p.shape.Dim)
	if err != nil {
		return nil, err
	}
	s := &Scorer{
		net:   newNetwork(p.shape, p.weights, nil, 1, len(sorted)),
		state: newMatrix(1, 2*p.shape.Dim),
	}
	skills := newMatrix(len(sorted), p.shape.Dim)
	for i, c := range sorted {
		copy(row(skills, i), c.Vector)
		s.ids = append(s.ids, c.ID)
		s.fresh = append(s.fresh, c.Fresh)
		if c.Fresh {
			s.freshIDs = append(s.freshIDs, c.ID)
		}
	}
	s.net.embedSkills(skills)
	return s, nil
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

// Score returns the logit of each candidate for a state of 2·D numbers, and the critic's value of
// the state.
func (s *Scorer) Score(state []float64) (logits []float64, value float64, err error) {
	if len(state) != s.state.cols {
		return nil, 0, fmt.Errorf("state: %w", wrongLength(len(state), s.state.cols))
	}
	copy(s.state.data, state)
	z, v := s.net.forward(s.state)
	return slices.Clone(row(z, 0)), v.data[0], nil
}

func wrongLength(got, want int) error {
	return fault.New(fault.InvalidArgument, fmt.Sprintf("the vector has %d numbers, the policy requires %d", got, want),
		"use the embedding model that the policy was trained with")
}
