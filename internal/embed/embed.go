// Package embed turns text into vectors.
package embed

import "context"

// Embedder is one embedding model. Vectors have Dims numbers and unit length.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error) // one vector a text, in order
	Model() string                                                  // names the embedding space together with Dims
	Dims() int
}
