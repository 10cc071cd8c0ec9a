package policy

// network is the forward and backward pass of one policy over minibatches, with preallocated
// buffers. It is not safe for concurrent use.
type network struct {
	weights, gradient parameters
	head              *head
	states, skills    matrix // inputs
	s1, h             matrix // state tower
	k1, u             matrix // skill tower
	c1, value         matrix // critic
	logits            matrix
	ds1, dh, dc1      matrix
	dk1, du           matrix
	dValue, dLogits   matrix
}

// newNetwork returns a network for at most states × skills. gradient has the length of weights, or
// is nil if backward is not used.
func newNetwork(s Shape, weights, gradient []float64, states, skills int) *network {
	n := &network{weights: s.view(weights)}
	hidden := s.Hidden
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
	n.head = newHead(s, n.weights, n.gradient, states, skills)
	return n
}

// embedSkills runs the skill tower over M rows of D numbers.
func (n *network) embedSkills(skills matrix) {
	n.skills = skills
	k1, u := top(n.k1, skills.rows), top(n.u, skills.rows)
	n.weights.skill1.forward(skills, k1)
	relu(k1)
	n.weights.skill2.forward(k1, u)
	n.head.skills(u)
}

// forward evaluates B states against the skills that were embedded last. The next call overwrites
// the results, B × M and B × 1.
func (n *network) forward(states matrix) (logits, values matrix) {
	n.states = states
	s1, h, c1, value := top(n.s1, states.rows), top(n.h, states.rows), top(n.c1, states.rows), top(n.value, states.rows)
	n.weights.state1.forward(states, s1)
	relu(s1)
	n.weights.state2.forward(s1, h)
	logits = n.logitsOf(states.rows)
	n.head.forward(h, logits)
	n.weights.critic1.forward(h, c1)
	relu(c1)
	n.weights.critic2.forward(c1, value)
	return logits, value
}

func (n *network) logitsOf(states int) matrix {
	return columns(top(n.logits, states), 0, n.skills.rows)
}

// loss clears and returns the buffers for ∂loss/∂logits and ∂loss/∂values of the last forward pass.
func (n *network) loss() (dLogits, dValues matrix) {
	dLogits = columns(top(n.dLogits, n.states.rows), 0, n.skills.rows)
	dValues = top(n.dValue, n.states.rows)
	zero(dLogits)
	zero(dValues)
	return dLogits, dValues
}

// backward adds the gradient of the last forward pass, from the buffers of loss.
func (n *network) backward() {
	b, m := n.states.rows, n.skills.rows
	s1, h, c1 := top(n.s1, b), top(n.h, b), top(n.c1, b)
	k1 := top(n.k1, m)
	dLogits, dValues := columns(top(n.dLogits, b), 0, m), top(n.dValue, b)
	ds1, dh, dc1 := top(n.ds1, b), top(n.dh, b), top(n.dc1, b)
	dk1, du := top(n.dk1, m), top(n.du, m)

	n.gradient.critic2.accumulate(c1, dValues)
	n.weights.critic2.input(dValues, dc1)
	reluBackward(c1, dc1)
	n.gradient.critic1.accumulate(h, dc1)
	n.weights.critic1.input(dc1, dh)

	n.head.backward(h, dLogits, dh, du)
	n.gradient.state2.accumulate(s1, dh)
	n.weights.state2.input(dh, ds1)
	reluBackward(s1, ds1)
	n.gradient.state1.accumulate(n.states, ds1)

	n.gradient.skill2.accumulate(k1, du)
	n.weights.skill2.input(du, dk1)
	reluBackward(k1, dk1)
	n.gradient.skill1.accumulate(n.skills, dk1)
}
