package policy

import "math"

// head converts the embeddings of states and skills to logits: the scaled dot product
// z_i = κ·(h·u_i)/√H. Row t, column i is the score of skill i for state t. The last layers of both
// towers are linear, so that a logit can have either sign.
type head struct {
	scale, dScale []float64 // κ; dScale is nil if κ is fixed
	root          float64   // √H
	u             matrix
	dots          matrix // h·u_i
	scaled        matrix // κ/√H · dLogits
}

// newHead returns the head of a shape for at most states × skills. Only backward uses gradient.
func newHead(s Shape, weights, gradient parameters, states, skills int) *head {
	t := &head{
		scale:  weights.scale,
		root:   math.Sqrt(float64(s.Hidden)),
		dots:   newMatrix(states, skills),
		scaled: newMatrix(states, skills),
	}
	if s.LearnScale {
		t.dScale = gradient.scale
	}
	return t
}

// skills sets the skills' embeddings, M × H, for all following states.
func (t *head) skills(u matrix) { t.u = u }

// forward sets logits, B × M, from the states' embeddings, B × H.
func (t *head) forward(h, logits matrix) {
	dots := columns(top(t.dots, h.rows), 0, t.u.rows)
	zero(dots)
	addProductTransposed(h, t.u, dots)
	for i := range logits.rows {
		from, to := row(dots, i), row(logits, i)
		for j := range to {
			to[j] = t.scale[0] * from[j] / t.root
		}
	}
}

// backward adds the gradient of κ and of the states' embeddings, and sets that of the skills'
// embeddings.
func (t *head) backward(h, dLogits, dh, du matrix) {
	scaled := columns(top(t.scaled, h.rows), 0, t.u.rows)
	for i := range dLogits.rows {
		d, dot, out := row(dLogits, i), row(t.dots, i), row(scaled, i)
		for j := range d {
			out[j] = d[j] * t.scale[0] / t.root
			if t.dScale != nil {
				t.dScale[0] += d[j] * dot[j] / t.root
			}
		}
	}
	addProduct(scaled, t.u, dh)
	zero(du)
	addTransposedProduct(scaled, h, du)
}
