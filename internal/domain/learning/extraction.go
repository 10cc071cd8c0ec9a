package learning

// Neighbor is a memory near a span.
type Neighbor struct {
	ID      string
	Content string
	Vector  []float32
}
