package policy

// concatHead is z_i = w·relu(A·[h ‖ u_i] + b) + c. The product with the joined vector is a sum,
// A·[h ‖ u] = A_h·h + A_u·u. Each half is therefore computed once for a state or a skill, and only
// the sum is computed for each pair.
type concatHead struct {
	weights, gradient parameters
	hidden            int
	u                 matrix
	ofStates          matrix // A_h·h + b
	ofSkills          matrix // A_u·u
	dStates, dSkills  matrix
}

func newConcatHead(s Shape, weights, gradient parameters, states, skills int) *concatHead {
	return &concatHead{
		weights: weights, gradient: gradient, hidden: s.Hidden,
		ofStates: newMatrix(states, s.Hidden), dStates: newMatrix(states, s.Hidden),
		ofSkills: newMatrix(skills, s.Hidden), dSkills: newMatrix(skills, s.Hidden),
	}
}

func (c *concatHead) rectified() bool { return true }

// halves returns the columns of A for the state and for the skill.
func (c *concatHead) halves(p parameters) (state, skill matrix) {
	return columns(p.actor1.weights, 0, c.hidden), columns(p.actor1.weights, c.hidden, 2*c.hidden)
}

func (c *concatHead) skills(u matrix) {
	_, half := c.halves(c.weights)
	c.u = u
	zero(c.ofSkills)
	addProductTransposed(u, half, c.ofSkills)
}

func (c *concatHead) forward(h, logits matrix) {
	half, _ := c.halves(c.weights)
	ofStates := top(c.ofStates, h.rows)
	linear{weights: half, bias: c.weights.actor1.bias}.forward(h, ofStates)
	w, bias := c.weights.actor2.weights.data, c.weights.actor2.bias[0]
	for i := range logits.rows {
		state, out := row(ofStates, i), row(logits, i)
		for j := range out {
			skill, z := row(c.ofSkills, j), bias
			for k := range w {
				z += w[k] * max(0, state[k]+skill[k])
			}
			out[j] = z
		}
	}
}

func (c *concatHead) backward(h, dLogits, dh, du matrix) {
	dStates, dSkills := top(c.dStates, h.rows), top(c.dSkills, c.u.rows)
	zero(dStates)
	zero(dSkills)
	w, dw := c.weights.actor2.weights.data, c.gradient.actor2.weights.data
	for i := range dLogits.rows {
		state, dState := row(c.ofStates, i), row(dStates, i)
		for j, dz := range row(dLogits, i) {
			if dz == 0 { // not a candidate of this decision
				continue
			}
			skill, dSkill := row(c.ofSkills, j), row(dSkills, j)
			c.gradient.actor2.bias[0] += dz
			for k := range w {
				if active := state[k] + skill[k]; active > 0 {
					dw[k] += dz * active
					dState[k] += dz * w[k]
					dSkill[k] += dz * w[k]
				}
			}
		}
	}
	stateHalf, skillHalf := c.halves(c.weights)
	dStateHalf, dSkillHalf := c.halves(c.gradient)
	linear{weights: dStateHalf, bias: c.gradient.actor1.bias}.accumulate(h, dStates)
	addTransposedProduct(dSkills, c.u, dSkillHalf)
	addProduct(dStates, stateHalf, dh)
	zero(du)
	addProduct(dSkills, skillHalf, du)
}
