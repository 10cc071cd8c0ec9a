package policy

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// Adam's constants, without the learning rate (Kingma and Ba 2015, algorithm 1).
const (
	beta1   = 0.9
	beta2   = 0.999
	epsilon = 1e-8
)

// Adam is the state of the optimizer of one policy. The zero value has made no step.
type Adam struct {
	steps         int
	first, second []float64 // running moments of the gradient
}

// Steps returns the number of updates.
func (a Adam) Steps() int { return a.steps }

// step moves weights against the gradient and returns the new state, which shares the moments with
// a.
func (a Adam) step(weights, gradient []float64, rate float64) Adam {
	if a.first == nil {
		a.first, a.second = make([]float64, len(weights)), make([]float64, len(weights))
	}
	a.steps++
	// Both moments start at zero. Dividing by 1 − βᵗ corrects the bias.
	size := rate / (1 - math.Pow(beta1, float64(a.steps)))
	root := 1 / math.Sqrt(1-math.Pow(beta2, float64(a.steps)))
	first, second := a.first[:len(gradient)], a.second[:len(gradient)]
	for i, g := range gradient {
		m := beta1*first[i] + (1-beta1)*g
		v := beta2*second[i] + (1-beta2)*g*g
		first[i], second[i] = m, v
		weights[i] -= size * m / (math.Sqrt(v)*root + epsilon)
	}
	return a
}

// clipNorm scales a gradient to the norm limit and returns its previous norm. The factor is
// limit/(norm + 10⁻⁶), at most 1. A limit of 0 means no limit.
func clipNorm(gradient []float64, limit float64) float64 {
	norm := floats.Norm(gradient, 2)
	if factor := limit / (norm + 1e-6); limit > 0 && factor < 1 {
		floats.Scale(factor, gradient)
	}
	return norm
}
