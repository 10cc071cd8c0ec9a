package policy

import (
	"cmp"
	"fmt"
	"math"

	"cairn/internal/domain/fault"
)

// Tower is the head: the scaled dot product of two embeddings.
const Tower = "tower"

// Shape determines the number and the meaning of a policy's weights.
type Shape struct {
	Head   string `json:"head"`   // Tower
	Dim    int    `json:"dim"`    // D, of a skill's vector; a state has 2·D
	Hidden int    `json:"hidden"` // H, of every inner layer
	// Scale is κ, 4 by default. √H gives the plain dot product.
	Scale float64 `json:"scale,omitempty"`
	// Fuse is how the memories near a span are combined to one vector: empty for Mean, or
	// SimWeighted. It is stored with the weights, because it is part of their meaning.
	Fuse string `json:"fuse,omitempty"`
	// Temperature is τ of SimWeighted, above 0. The smaller it is, the larger is the weight of the
	// nearest memory. Mean has no temperature.
	Temperature float64 `json:"fuse_temperature,omitempty"`
}

// Names of the ways to fuse memories.
const (
	Mean        = "mean"         // the arithmetic mean: the default
	SimWeighted = "sim_weighted" // weighted by softmax(cos(span, memory)/τ)
)

// DefaultTemperature is the default τ of SimWeighted.
const DefaultTemperature = 1

// Fused returns the shape with a way to fuse, by name. The empty name keeps the current one. A
// temperature of 0 means the default.
func (s Shape) Fused(name string, temperature float64) (Shape, error) {
	switch name {
	case "":
		if temperature != 0 && s.Fuse != SimWeighted {
			return s, fault.New(fault.InvalidArgument, "the mean of memories has no temperature",
				"use sim_weighted, or leave the temperature out")
		}
		if temperature != 0 {
			s.Temperature = temperature
		}
	case Mean:
		if temperature != 0 {
			return s, fault.New(fault.InvalidArgument, "the mean of memories has no temperature",
				"use sim_weighted, or leave the temperature out")
		}
		s.Fuse, s.Temperature = "", 0
	case SimWeighted:
		s.Fuse, s.Temperature = SimWeighted, cmp.Or(temperature, DefaultTemperature)
	default:
		return s, fault.New(fault.InvalidArgument, fmt.Sprintf("unknown way to fuse memories %q", name),
			"use mean or sim_weighted")
	}
	return s, s.Check()
}

// with returns the shape with the fusion of another one.
func (s Shape) with(other Shape) Shape {
	s.Fuse, s.Temperature = other.Fuse, other.Temperature
	return s
}

// DefaultScale is the default κ.
const DefaultScale = 4

// TowerShape returns the default shape for vectors of dim numbers.
func TowerShape(dim, hidden int) Shape {
	return Shape{Head: Tower, Dim: dim, Hidden: hidden, Scale: DefaultScale}
}

// DotShape returns the shape of the paper's head: the plain dot product of two embeddings.
func DotShape(dim, hidden int) Shape {
	return Shape{Head: Tower, Dim: dim, Hidden: hidden, Scale: math.Sqrt(float64(hidden))}
}

// Limits of a shape, so that a shape from a file cannot exhaust the memory.
const (
	maxDim    = 1 << 14
	maxHidden = 1 << 12
)

// Check returns fault.InvalidArgument for an invalid shape.
func (s Shape) Check() error {
	switch {
	case s.Head != Tower:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("the head of the policy is %q, must be %q", s.Head, Tower),
			otherPolicy)
	case s.Dim < 1 || s.Dim > maxDim || s.Hidden < 1 || s.Hidden > maxHidden:
		return fault.Newf(
			fault.InvalidArgument,
			"invalid policy size %d × %d: dimensions must be 1–%d, hidden units 1–%d",
			s.Dim,
			s.Hidden,
			maxDim,
			maxHidden,
		)
	case s.Scale == 0 || math.IsNaN(s.Scale) || math.IsInf(s.Scale, 0):
		return fault.Newf(fault.InvalidArgument, "the scale of a tower head is %v, must be finite and not zero",
			s.Scale)
	case s.Fuse != "" && s.Fuse != SimWeighted:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("unknown way to fuse memories %q", s.Fuse),
			"use mean or sim_weighted")
	case s.Fuse == "" && s.Temperature != 0 || s.Fuse != "" && !(s.Temperature > 0 && !math.IsInf(s.Temperature, 0)):
		return fault.New(
			fault.InvalidArgument,
			fmt.Sprintf("invalid temperature %v for fusing memories", s.Temperature),
			"use a value above 0 with sim_weighted, or none with mean",
		)
	}
	return nil
}

// Weights returns the number of the policy's parameters.
func (s Shape) Weights() int {
	n := 1 // κ
	for _, l := range s.layers() {
		n += l.out * (l.in + 1)
	}
	return n
}

type size struct{ in, out int }

// layers returns the perceptron layers in the order of their stored weights: state 1, 2; skill 1,
// 2; critic 1, 2.
func (s Shape) layers() []size {
	d, h := s.Dim, s.Hidden
	return []size{{2 * d, h}, {h, h}, {d, h}, {h, h}, {h, h}, {h, 1}}
}
