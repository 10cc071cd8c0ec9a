package search

import "context"

// Space is an embedding space with the embedder that serves it. Vectors of two spaces are never
// compared.
type Space struct {
	ID          int16
	Embedder    Embedder
	VectorShare float64 // of Finder, for this space; 0 means that of the Finder
}

// Spaces returns the space that searches of a workspace use. It fails if no embedder serves that
// space; searches then compare words only.
type Spaces interface {
	Of(ctx context.Context, ws int64) (Space, error)
}

// OneSpace serves all workspaces.
type OneSpace Space

// Of returns the space.
func (s OneSpace) Of(context.Context, int64) (Space, error) { return Space(s), nil }

// Owed returns the space as the one that all documents need vectors in.
func (s OneSpace) Owed(context.Context, int64) (active int16, needed []Space, err error) {
	return 0, []Space{Space(s)}, nil
}

// SpacesOr returns s, or one space for all workspaces if s is nil.
func SpacesOr(s Spaces, one Space) Spaces {
	if s == nil {
		return OneSpace(one)
	}
	return s
}

// Vector is a vector with its space. Without Values, only words are compared.
type Vector struct {
	Values []float32
	Space  int16
}

// VectorOf returns the vector of a text in the space that a workspace uses, without values if no
// embedder is available.
func VectorOf(ctx context.Context, s Spaces, ws int64, text string) Vector {
	used, err := s.Of(ctx, ws)
	if err != nil {
		return Vector{}
	}
	vs, err := used.Embedder.Embed(ctx, []string{text})
	if err != nil || len(vs) != 1 {
		return Vector{}
	}
	return Vector{Values: vs[0], Space: used.ID}
}
