package policy

import "math"

// towerHead is the scaled dot product z_i = κ·(h·u_i)/√H. The last layers of both towers are
// linear, so that a logit can have either sign.
type towerHead struct {
	scale, dScale []float64 // κ; dScale is nil if κ is fixed
	root          float64   // √H
	u             matrix
	dots          matrix // h·u_i
	scaled        matrix // κ/√H · dLogits
}

func newTowerHead(s Shape, weights, gradient parameters, states, skills int) *towerHead {
	t := &towerHead{
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

func (t *towerHead) rectified() bool { return false }

func (t *towerHead) skills(u matrix) { t.u = u }

func (t *towerHead) forward(h, logits matrix) {
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

func (t *towerHead) backward(h, dLogits, dh, du matrix) {
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
