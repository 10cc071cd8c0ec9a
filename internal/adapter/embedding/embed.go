// Package embedding turns text into vectors. Hashing computes them on this machine without a model;
// package endpoint requests them from a model.
//
//	embedder := embedding.Hashing(embedding.DefaultDims)
//	vectors, err := embedder.Embed(ctx, []string{"Roll back to r41"})
//
// Vectors of different embedders or of different lengths cannot be compared. Model and Dims
// together name the space of a vector.
package embedding

import "context"

// Embedder is one embedding model. Its vectors have Dims numbers and unit length.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error) // one vector per text, in order
	Model() string                                                  // names the embedding space together with Dims
	Dims() int
}
