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
	Model() string // name of the model
}

// Encoder embeds texts. It fails if the embedder fails, because a policy cannot choose without a
// state.
type Encoder struct{ Embedder Embedder }

// Embed returns one vector per text.
func (e Encoder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, err := e.Embedder.Embed(ctx, texts)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "embedding request failed", "")
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("embedder returned %d vectors for %d texts", len(vectors), len(texts))
	}
	return vectors, nil
}

// Skills returns the vectors of skill descriptions by ID, in the form that choosers use.
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

// Candidates returns the skills of a bank in the form that choosers use. Fresh contains the IDs of
// the new ones.
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

// State returns the input of a decision: the vectors of a span and of the memories near it.
func State(c policy.Chooser, span []float32, near [][]float32) []float64 {
	var memories [][]float64
	for _, v := range near {
		memories = append(memories, c.Vector(v))
	}
	return c.State(c.Vector(span), memories)
}

// Members returns those IDs that the bank still contains.
func Members(b memoryskill.Bank, ids []string) (out []string) {
	for _, v := range b.Versions() {
		if slices.Contains(ids, v.ID) {
			out = append(out, v.ID)
		}
	}
	return out
}
