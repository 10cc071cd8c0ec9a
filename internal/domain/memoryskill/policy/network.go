package policy

import "math"

// network is the forward and backward pass of one policy over minibatches, with preallocated
// buffers. It is not safe for concurrent use.
type network struct {
	weights, gradient parameters
	root              float64 // √H
	states, skills    matrix  // inputs
	s1, h             matrix  // state tower
	k1, u             matrix  // skill tower
	c1, value         matrix  // critic
	logits            matrix
	ds1, dh, dc1      matrix
	dk1, du           matrix
	dValue, dLogits   matrix
}

// newNetwork returns a network for at most states, and exactly skills. gradient has the length of
// weights, or is nil if backward is not used.
func newNetwork(s Shape, weights, gradient []float64, states, skills int) *network {
	hidden := s.Hidden
	n := &network{weights: s.view(weights), root: math.Sqrt(float64(hidden))}
	n.s1, n.h = newMatrix(states, hidden), newMatrix(states, hidden)
	n.k1, n.u = newMatrix(skills, hidden), newMatrix(skills, hidden)
	n.c1, n.value = newMatrix(states, hidden), newMatrix(states, 1)
	n.logits = newMatrix(states, skills)
	if gradient != nil {
		n.gradient = s.view(gradient)
		n.ds1, n.dh, n.dc1 = newMatrix(states, hidden), newMatrix(states, hidden), newMatrix(states, hidden)
		n.dk1, n.du = newMatrix(skills, hidden), newMatrix(skills, hidden)
		n.dValue, n.dLogits = newMatrix(states, 1), newMatrix(states, skills)
	}
	return n
}

// embedSkills runs the skill tower over M rows of D numbers.
func (n *network) embedSkills(skills matrix) {
	n.skills = skills
	n.weights.skill1.forward(skills, n.k1)
	relu(n.k1)
	n.weights.skill2.forward(n.k1, n.u)
}

// forward evaluates B states against the skills that were embedded last. The logit of a skill is the
// scaled dot product κ·(h·u)/√H. The last layers of both towers are linear, so that it can have
// either sign. The next call overwrites the results, B × M and B × 1.
func (n *network) forward(states matrix) (logits, values matrix) {
	n.states = states
	b := states.rows
	s1, h, c1 := top(n.s1, b), top(n.h, b), top(n.c1, b)
	logits, values = top(n.logits, b), top(n.value, b)
	n.weights.state1.forward(states, s1)
	relu(s1)
	n.weights.state2.forward(s1, h)
	zero(logits)
	addProductTransposed(h, n.u, logits)
	n.scale(logits)
	n.weights.critic1.forward(h, c1)
	relu(c1)
	n.weights.critic2.forward(c1, values)
	return logits, values
}

// scale multiplies m with κ/√H.
func (n *network) scale(m matrix) {
	for i, x := range m.data {
		m.data[i] = n.weights.scale[0] * x / n.root
	}
}

// loss clears and returns the buffers for ∂loss/∂logits and ∂loss/∂values of the last forward pass.
func (n *network) loss() (dLogits, dValues matrix) {
	dLogits, dValues = top(n.dLogits, n.states.rows), top(n.dValue, n.states.rows)
	zero(dLogits)
	zero(dValues)
	return dLogits, dValues
}

// backward adds the gradient of the last forward pass, from the buffers of loss, which it overwrites.
// κ is fixed and has no gradient.
func (n *network) backward() {
	b := n.states.rows
	s1, h, c1 := top(n.s1, b), top(n.h, b), top(n.c1, b)
	dLogits, dValues := top(n.dLogits, b), top(n.dValue, b)
	ds1, dh, dc1 := top(n.ds1, b), top(n.dh, b), top(n.dc1, b)

	n.gradient.critic2.accumulate(c1, dValues)
	n.weights.critic2.input(dValues, dc1)
	reluBackward(c1, dc1)
	n.gradient.critic1.accumulate(h, dc1)
	n.weights.critic1.input(dc1, dh)

	n.scale(dLogits)
	addProduct(dLogits, n.u, dh)
	zero(n.du)
	addTransposedProduct(dLogits, h, n.du)
	n.gradient.state2.accumulate(s1, dh)
	n.weights.state2.input(dh, ds1)
	reluBackward(s1, ds1)
	n.gradient.state1.accumulate(n.states, ds1)

	n.gradient.skill2.accumulate(n.k1, n.du)
	n.weights.skill2.input(n.du, n.dk1)
	reluBackward(n.k1, n.dk1)
	n.gradient.skill1.accumulate(n.skills, n.dk1)
}
