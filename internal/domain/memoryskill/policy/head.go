package policy

// head converts the embeddings of states and skills to logits. Row t, column c is the score of
// skill c for state t.
type head interface {
	// skills sets the skills' embeddings, M × H. It computes the parts that depend only on them,
	// once for all following states.
	skills(u matrix)
	// forward sets logits, B × M, from the states' embeddings, B × H.
	forward(h, logits matrix)
	// backward adds the gradient of the head's weights and of the states' embeddings, and sets that
	// of the skills' embeddings.
	backward(h, dLogits, dh, du matrix)
	// rectified reports whether both embeddings end in a ReLU.
	rectified() bool
}

// newHead returns the head of a shape for at most states × skills. Only backward uses gradient.
func newHead(s Shape, weights, gradient parameters, states, skills int) head {
	if s.Head == Concat {
		return newConcatHead(s, weights, gradient, states, skills)
	}
	return newTowerHead(s, weights, gradient, states, skills)
}
