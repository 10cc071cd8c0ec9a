package policy

import "gonum.org/v1/gonum/floats"

// linear is a fully connected layer: y = W·x + b. Its numbers are a part of the
// policy's one vector, or of a gradient's.
type linear struct {
	weights matrix // out × in
	bias    []float64
}

// forward sets each row of y from the row of x.
func (l linear) forward(x, y matrix) {
	for i := range y.rows {
		copy(row(y, i), l.bias)
	}
	addProductTransposed(x, l.weights, y)
}

// accumulate adds ∂loss/∂W = dyᵀ·x and ∂loss/∂b = Σ dy to l, a gradient.
func (l linear) accumulate(x, dy matrix) {
	addTransposedProduct(dy, x, l.weights)
	for i := range dy.rows {
		floats.Add(l.bias, row(dy, i))
	}
}

// input sets dx = dy·W, the gradient of what went in.
func (l linear) input(dy, dx matrix) {
	zero(dx)
	addProduct(dy, l.weights, dx)
}

func relu(m matrix) {
	for i := range m.rows {
		r := row(m, i)
		for j, x := range r {
			r[j] = max(0, x)
		}
	}
}

// reluBackward takes out of dy what relu did not let through; y is its output.
func reluBackward(y, dy matrix) {
	for i := range y.rows {
		out, d := row(y, i), row(dy, i)
		for j := range d {
			if out[j] <= 0 {
				d[j] = 0
			}
		}
	}
}
