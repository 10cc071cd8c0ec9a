package bank

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
)

// Embedder turns texts into vectors.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Dims() int
}

// Encoder embeds texts, and fails when the embedder does not answer: a decision
// without a state would be another decision.
type Encoder struct{ Embedder Embedder }

// Embed returns one vector for each text.
func (e Encoder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, err := e.Embedder.Embed(ctx, texts)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "the embedder does not answer", "")
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("the embedder gave %d vectors for %d texts", len(vectors), len(texts))
	}
	return vectors, nil
}

// Skills returns the vectors of the descriptions of skills, by id, as a chooser sees
// them.
func (e Encoder) Skills(ctx context.Context, skills []memoryskill.Version,
	c policy.Chooser) (map[string][]float64, error) {
	var texts []string
	for _, v := range skills {
		texts = append(texts, v.Skill.Description)
	}
	vectors, err := e.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	out := map[string][]float64{}
	for i, v := range vectors {
		out[skills[i].ID] = c.Vector(v)
	}
	return out, nil
}

// Candidates are the skills of a bank as a chooser chooses among them. Fresh are the
// ids of those that are new.
func (e Encoder) Candidates(ctx context.Context, b memoryskill.Bank, fresh []string,
	c policy.Chooser) ([]policy.Candidate, error) {
	vectors, err := e.Skills(ctx, b.Versions(), c)
	if err != nil {
		return nil, err
	}
	var out []policy.Candidate
	for _, v := range b.Versions() {
		out = append(out, policy.Candidate{ID: v.ID, Vector: vectors[v.ID], Fresh: slices.Contains(fresh, v.ID)})
	}
	return out, nil
}

// State is what a decision is about, as a chooser sees it: a span and the memories
// near it.
func State(c policy.Chooser, span []float32, near [][]float32) []float64 {
	var memories [][]float64
	for _, v := range near {
		memories = append(memories, c.Vector(v))
	}
	return c.State(c.Vector(span), memories)
}

// Members are those of ids that a bank still has.
func Members(b memoryskill.Bank, ids []string) (out []string) {
	for _, v := range b.Versions() {
		if slices.Contains(ids, v.ID) {
			out = append(out, v.ID)
		}
	}
	return out
}
