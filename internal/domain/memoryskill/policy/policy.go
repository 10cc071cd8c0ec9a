package policy

import (
	"math"

	"cairn/internal/domain/memoryskill/keyedrand"
)

// Policy holds the weights of a model. It is a value: training returns another one.
type Policy struct {
	shape   Shape
	weights []float64
}

// NewPolicy draws weights and biases uniformly from ±1/√(inputs of the layer). Policies of equal
// shape and key are equal. It sets key.Purpose.
func NewPolicy(shape Shape, key keyedrand.Key) (Policy, error) {
	if err := shape.Check(); err != nil {
		return Policy{}, err
	}
	key.Purpose = "weights"
	stream := key.Stream()
	p := Policy{shape: shape, weights: make([]float64, shape.Weights())}
	rest := p.weights
	for _, l := range shape.layers() {
		bound := 1 / math.Sqrt(float64(l.in))
		n := l.out * (l.in + 1)
		for i := range rest[:n] {
			rest[i] = bound * (2*stream.Float64() - 1)
		}
		rest = rest[n:]
	}
	rest[0] = shape.Scale
	return p, nil
}

// Shape returns the shape of the policy.
func (p Policy) Shape() Shape { return p.shape }
