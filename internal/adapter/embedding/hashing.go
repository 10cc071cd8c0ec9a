package embedding

import (
	"context"

	"cairn/internal/domain/lexical"
	"cairn/internal/domain/txscope"
)

// DefaultDims is the length of hashing vectors unless configured otherwise.
const DefaultDims = 384

// HashingModel names the hashing embedder's space. Any change to the features of a text needs a new
// name.
const HashingModel = "hashing-v1"

// hashed is the embedder that needs no model.
type hashed struct{ dims int }

// Hashing returns the embedder that needs no model. dims ≤ 0 means DefaultDims.
func Hashing(dims int) Embedder {
	if dims <= 0 {
		dims = DefaultDims
	}
	return hashed{dims: dims}
}

// Model returns the name of the space.
func (h hashed) Model() string { return HashingModel }

// Dims returns the length of the vectors.
func (h hashed) Dims() int { return h.dims }

// Embed returns the hashing vectors of texts. It fails only if ctx is done or if it is called
// inside a transaction. All texts without words or relevant symbols have the same fixed vector.
func (h hashed) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if err := txscope.Reject(ctx); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return HashingVectors(h.dims)(texts), nil
}

// HashingVectors returns the function that Hashing embeds with. It may be called inside a
// transaction, because it only computes.
func HashingVectors(dims int) func(texts []string) [][]float32 {
	return func(texts []string) [][]float32 {
		vectors := make([][]float32, len(texts))
		for i, text := range texts {
			vectors[i] = lexical.Vector(text, dims)
		}
		return vectors
	}
}
