// Package embedding turns text into vectors: Hashing on this machine without any
// model, OpenAI through an endpoint.
//
//	embedder := embed.Hashing(embed.DefaultDims)
//	vectors, err := embedder.Embed(ctx, []string{"Roll back to r41"})
//
// Vectors of different embedders, or of different lengths, cannot be compared;
// Model and Dims together name the space that a vector belongs to.
package embedding

import "context"

// Embedder is one embedding model. Vectors have Dims numbers and unit length.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error) // one vector a text, in order
	Model() string                                                  // names the embedding space together with Dims
	Dims() int
}
