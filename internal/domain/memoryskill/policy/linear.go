package policy

import "gonum.org/v1/gonum/floats"

// linear is a fully connected layer: y = W·x + b. Its numbers are part of the vector of a policy,
// or of a gradient.
type linear struct {
	weights matrix // out × in
	bias    []float64
}

// forward computes each row of y from the row of x.
func (l linear) forward(x, y matrix) {
	for i := range y.rows {
		copy(row(y, i), l.bias)
	}
	addProductTransposed(x, l.weights, y)
}

// accumulate adds ∂loss/∂W = dyᵀ·x and ∂loss/∂b = Σ dy to l, which is a gradient.
func (l linear) accumulate(x, dy matrix) {
	addTransposedProduct(dy, x, l.weights)
	for i := range dy.rows {
		floats.Add(l.bias, row(dy, i))
	}
}

// input sets dx = dy·W, the gradient of the input.
func (l linear) input(dy, dx matrix) {
	zero(dx)
	addProduct(dy, l.weights, dx)
}

func relu(m matrix) {
	for i, x := range m.data {
		m.data[i] = max(0, x)
	}
}

// reluBackward sets dy to 0 where relu was inactive; y is the output of relu.
func reluBackward(y, dy matrix) {
	for i, x := range y.data {
		if x <= 0 {
			dy.data[i] = 0
		}
	}
}
