package embedding

import (
	"context"

	"cairn/internal/domain/lexical"
	"cairn/internal/domain/txscope"
)

// DefaultDims is the length of hashing vectors unless configured otherwise.
const DefaultDims = 384

// HashingModel names the hashing embedder's space. Any change to what a text's
// features are needs a new name.
const HashingModel = "hashing-v1"

// hashed is the embedder that needs no model.
type hashed struct{ dims int }

// Hashing makes the embedder that needs no model; dims ≤ 0 means DefaultDims.
func Hashing(dims int) Embedder {
	if dims <= 0 {
		dims = DefaultDims
	}
	return hashed{dims: dims}
}

// Model names the space.
func (h hashed) Model() string { return HashingModel }

// Dims is the length of the vectors.
func (h hashed) Dims() int { return h.dims }

// Embed never fails but for a done ctx and inside a transaction. A text without
// words or signs that count is the same fixed vector as every other such text.
func (h hashed) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := txscope.Reject(ctx); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return HashingVectors(h.dims)(texts), nil
}

// HashingVectors returns what Hashing embeds with, for use inside a transaction: it
// only computes.
func HashingVectors(dims int) func(texts []string) [][]float32 {
	return func(texts []string) [][]float32 {
		vectors := make([][]float32, len(texts))
		for i, text := range texts {
			vectors[i] = lexical.Vector(text, dims)
		}
		return vectors
	}
}
