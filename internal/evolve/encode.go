package evolve

import (
	"context"
	"fmt"

	"cairn/internal/fault"
	"cairn/internal/memskill"
	"cairn/internal/memskill/controller"
)

// policyDims bounds the vectors that a policy looks at. An embedder's are folded
// into fewer numbers, so that a policy has tens of thousands of weights and not
// millions, of which every iteration of a training would be kept.
const policyDims = 128

// policyHidden is the width of a policy's layers.
const policyHidden = 64

func (s *Service) dims() int { return min(policyDims, s.Embedder.Dims()) }

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

// candidates are the skills of a bank as a policy chooses among them.
func (s *Service) candidates(ctx context.Context, b memskill.Bank, fresh []string) ([]controller.Candidate, error) {
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
	var out []controller.Candidate
	for i, v := range b.Versions() {
		out = append(out, controller.Candidate{ID: v.ID, Vector: controller.Fold(vectors[i], s.dims()), Fresh: isFresh[v.ID]})
	}
	return out, nil
}

// state is what a decision is about: the span and what is remembered near it.
func (s *Service) state(span []float32, near [][]float32) []float64 {
	var memories [][]float64
	for _, v := range near {
		memories = append(memories, controller.Fold(v, s.dims()))
	}
	return controller.State(controller.Fold(span, s.dims()), memories)
}
