package policy

// head turns the embeddings of states and skills into logits: row t, column c
// is how much state t wants skill c.
type head interface {
	// skills takes the skills' embeddings in, M × H. What they alone decide is
	// computed here, once for every state that follows.
	skills(u matrix)
	// forward sets logits, B × M, from the states' embeddings, B × H.
	forward(h, logits matrix)
	// backward adds the gradient of the head's own weights and of the states'
	// embeddings, and sets that of the skills'.
	backward(h, dLogits, dh, du matrix)
	// rectified tells whether both embeddings end in a ReLU.
	rectified() bool
}

// newHead makes the head of a shape for at most states × skills at once.
// gradient is only used by backward.
func newHead(s Shape, weights, gradient parameters, states, skills int) head {
	if s.Head == Concat {
		return newConcatHead(s, weights, gradient, states, skills)
	}
	return newTowerHead(s, weights, gradient, states, skills)
}
