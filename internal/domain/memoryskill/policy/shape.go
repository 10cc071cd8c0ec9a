package policy

import (
	"cmp"
	"fmt"
	"math"

	"cairn/internal/domain/fault"
)

// Heads by name.
const (
	Tower  = "tower"  // scaled dot product of two embeddings: the default
	Concat = "concat" // a perceptron over both embeddings: the reference program's
)

// Shape is what fixes the number and the meaning of a policy's weights.
type Shape struct {
	Head   string `json:"head"`   // Tower or Concat
	Dim    int    `json:"dim"`    // D, of a skill's vector; a state has 2·D
	Hidden int    `json:"hidden"` // H, of every inner layer
	// Scale is κ of the tower head at the start, 4 by default; √H makes the
	// logit the plain dot product. Concat has none.
	Scale float64 `json:"scale,omitempty"`
	// LearnScale lets training move κ.
	LearnScale bool `json:"learn_scale,omitempty"`
	// Fuse is how the memories near a span become one vector: empty for Mean, or
	// SimWeighted. It is a part of what the weights mean, so it travels with them.
	Fuse string `json:"fuse,omitempty"`
	// Temperature is τ of SimWeighted, above 0: the smaller, the more the nearest
	// memory counts. Mean has none.
	Temperature float64 `json:"fuse_temperature,omitempty"`
}

// Ways to fuse memories, by name.
const (
	Mean        = "mean"         // the arithmetic mean: the default
	SimWeighted = "sim_weighted" // weighed by softmax(cos(span, memory)/τ)
)

// DefaultTemperature is τ of SimWeighted where nothing else is said.
const DefaultTemperature = 1

// Fused is the shape with a way to fuse, by name; the empty name leaves it as it
// is. A temperature of 0 is the default one.
func (s Shape) Fused(name string, temperature float64) (Shape, error) {
	switch name {
	case "":
		if temperature != 0 && s.Fuse != SimWeighted {
			return s, fault.New(fault.InvalidArgument, "the mean of memories has no temperature",
				"name sim_weighted too")
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
		return s, fault.New(fault.InvalidArgument, fmt.Sprintf("memories cannot be fused by %q", name),
			"use mean or sim_weighted")
	}
	return s, s.Check()
}

// DefaultScale is κ where nothing else is said.
const DefaultScale = 4

// TowerShape is the default head for vectors of dim numbers.
func TowerShape(dim, hidden int) Shape {
	return Shape{Head: Tower, Dim: dim, Hidden: hidden, Scale: DefaultScale}
}

// DotShape is the paper's head: the plain dot product of two embeddings.
func DotShape(dim, hidden int) Shape {
	return Shape{Head: Tower, Dim: dim, Hidden: hidden, Scale: math.Sqrt(float64(hidden))}
}

// ConcatShape is the reference program's head.
func ConcatShape(dim, hidden int) Shape { return Shape{Head: Concat, Dim: dim, Hidden: hidden} }

// Limits keep a shape that was read from a file from asking for the machine's
// memory.
const (
	maxDim    = 1 << 14
	maxHidden = 1 << 12
)

// Check refuses a shape that no policy can have.
func (s Shape) Check() error {
	switch {
	case s.Head != Tower && s.Head != Concat:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("unknown head %q of a policy", s.Head),
			"use tower or concat")
	case s.Dim < 1 || s.Dim > maxDim || s.Hidden < 1 || s.Hidden > maxHidden:
		return fault.Newf(fault.InvalidArgument, "a policy of %d × %d: dimensions are 1–%d, hidden units 1–%d", s.Dim,
			s.Hidden, maxDim, maxHidden)
	case s.Head == Tower && (s.Scale == 0 || math.IsNaN(s.Scale) || math.IsInf(s.Scale, 0)):
		return fault.Newf(fault.InvalidArgument, "the scale of a tower head is %v; it must be a number other than zero",
			s.Scale)
	case s.Fuse != "" && s.Fuse != SimWeighted:
		return fault.New(fault.InvalidArgument, fmt.Sprintf("memories cannot be fused by %q", s.Fuse),
			"use mean or sim_weighted")
	case s.Fuse == "" && s.Temperature != 0 || s.Fuse != "" && !(s.Temperature > 0 && !math.IsInf(s.Temperature, 0)):
		return fault.New(fault.InvalidArgument, fmt.Sprintf("the temperature of fusing memories is %v", s.Temperature),
			"it is above 0 with sim_weighted, and mean has none")
	case s.Head == Concat && (s.Scale != 0 || s.LearnScale):
		return fault.Newf(fault.InvalidArgument, "a concat head has no scale")
	}
	return nil
}

// Weights counts the policy's parameters.
func (s Shape) Weights() int {
	n := 0
	for _, l := range s.layers() {
		n += l.out * (l.in + 1)
	}
	if s.Head == Tower {
		n++ // κ
	}
	return n
}

type size struct{ in, out int }

// layers lists the perceptron layers in the order in which their weights are
// kept: state 1, 2; skill 1, 2; actor 1, 2 (Concat only); critic 1, 2.
func (s Shape) layers() []size {
	d, h := s.Dim, s.Hidden
	sizes := []size{{2 * d, h}, {h, h}, {d, h}, {h, h}}
	if s.Head == Concat {
		sizes = append(sizes, size{2 * h, h}, size{h, 1})
	}
	return append(sizes, size{h, h}, size{h, 1})
}
