package policy

import "gonum.org/v1/gonum/floats"

// matrix is row-major. A row is one state, one skill or one output unit.
//
// Products use gonum's vector kernels row by row. gonum's general matrix product splits large
// products among goroutines. Here the order of every sum is fixed, nothing is allocated, and an
// update uses one core.
type matrix struct {
	rows, cols int
	data       []float64
}

func newMatrix(rows, cols int) matrix {
	return matrix{rows: rows, cols: cols, data: make([]float64, rows*cols)}
}

func row(m matrix, i int) []float64 { return m.data[i*m.cols : (i+1)*m.cols] }

// top returns the first n rows of m, which share its numbers.
func top(m matrix, n int) matrix {
	return matrix{rows: n, cols: m.cols, data: m.data[:n*m.cols]}
}

func zero(m matrix) { clear(m.data) }

// addProduct sets c to c + a·b.
func addProduct(a, b, c matrix) {
	for k := range b.rows {
		shared := row(b, k)
		for i := range a.rows {
			if x := a.data[i*a.cols+k]; x != 0 {
				floats.AddScaled(row(c, i), x, shared)
			}
		}
	}
}

// addTransposedProduct sets c to c + aᵀ·b.
func addTransposedProduct(a, b, c matrix) {
	for k := range a.cols {
		sum := row(c, k)
		for i := range a.rows {
			if x := a.data[i*a.cols+k]; x != 0 {
				floats.AddScaled(sum, x, row(b, i))
			}
		}
	}
}

// addProductTransposed sets c to c + a·bᵀ.
func addProductTransposed(a, b, c matrix) {
	for k := range b.rows {
		shared := row(b, k)
		for i := range a.rows {
			c.data[i*c.cols+k] += floats.Dot(row(a, i), shared)
		}
	}
}
