package learning

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
)

// embed turns texts into vectors, and fails when the embedder is away: a decision
// without a state would be another decision.
func (s *Service) embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vs, err := s.Embedder.Embed(ctx, texts)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "the embedder does not answer", "")
	}
	if len(vs) != len(texts) {
		return nil, fmt.Errorf("the embedder gave %d vectors for %d texts", len(vs), len(texts))
	}
	return vs, nil
}

// candidates are the skills of a bank as a policy that looks at dims numbers
// chooses among them.
func (s *Service) candidates(ctx context.Context, b memoryskill.Bank, fresh []string, dims int) ([]policy.Candidate, error) {
	var texts []string
	for _, v := range b.Versions() {
		texts = append(texts, v.Skill.Description)
	}
	vectors, err := s.embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	isFresh := map[string]bool{}
	for _, id := range fresh {
		isFresh[id] = true
	}
	var out []policy.Candidate
	for i, v := range b.Versions() {
		out = append(out, policy.Candidate{ID: v.ID, Vector: policy.Fold(vectors[i], dims), Fresh: isFresh[v.ID]})
	}
	return out, nil
}

// state is what a decision is about, as a policy of this shape looks at it: the
// span and what is remembered near it.
func state(span []float32, near [][]float32, shape policy.Shape) []float64 {
	var memories [][]float64
	for _, v := range near {
		memories = append(memories, policy.Fold(v, shape.Dim))
	}
	return shape.State(policy.Fold(span, shape.Dim), memories)
}
