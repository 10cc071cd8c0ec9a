package policy

import (
	"math"

	"cairn/internal/domain/memoryskill/keyedrand"
)

// Policy is a controller's weights. It is a value: training makes another one.
type Policy struct {
	shape   Shape
	weights []float64
}

// NewPolicy draws weights and biases uniformly from ±1/√(inputs of the layer).
// Policies of equal shape and key are equal; key.Purpose is set here.
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
	if shape.Head == Tower {
		rest[0] = shape.Scale
	}
	return p, nil
}

// Shape tells what kind of policy it is.
func (p Policy) Shape() Shape { return p.shape }
