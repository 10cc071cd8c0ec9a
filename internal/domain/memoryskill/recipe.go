package memoryskill

import (
	"fmt"
	"math"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/policy"
)

// Difficulty is the name of a ranking of failures for the designer.
type Difficulty string

const (
	Linear Difficulty = "linear" // (1−r)·c: the paper's; the default
	Log    Difficulty = "log"    // clip₀₁(1−r)·ln(1+c): the reference program's
)

// Of returns the difficulty of a query with score r that failed c times.
func (d Difficulty) Of(score float64, failures int) float64 {
	missing := min(1, max(0, 1-score))
	if d == Log {
		return missing * math.Log1p(float64(failures))
	}
	return missing * float64(failures)
}

// Default size of a policy. Embeddings are folded to few numbers: with more numbers, a policy
// memorizes the spans of its few training traces (docs/concepts/learning.md). The layers are wide enough
// to learn in few updates. In the test world of package policy, 64 units reach an overlap of 0.95
// after 50 updates, and 16 units 0.74.
const (
	PolicyDims   = 32 // length of a skill's vector and of each half of a state
	PolicyHidden = 64 // width of the layers
)

// Recipe holds the training options that differ between the paper, its program and Cairn.
type Recipe struct {
	Name        string             `json:"name"`
	Head        string             `json:"head"`  // of the policy: tower or dot
	Spans       string             `json:"spans"` // division of traces: one of executor.Modes
	PPO         policy.PPO         `json:"ppo"`
	Credit      policy.Credit      `json:"credit"`
	Exploration policy.Exploration `json:"exploration"`
	AddedOnly   bool               `json:"added_only"` // refined skills have no exploration bias
	Difficulty  Difficulty         `json:"difficulty"`
	Edits       int                `json:"edits"`    // maximum number of changes of a designer round
	Patience    int                `json:"patience"` // stages without a better score before training ends
	Evolutions  int                `json:"evolutions"`
}

// Names of recipes.
const (
	TargetRecipe = "target" // the default: two towers, credit by provenance
	PaperRecipe  = "paper"  // arXiv 2602.02474: dot product, reward at the end of the trace
	CodeRecipe   = "code"   // the program published with the paper, except for its head: dot product
)

// dot is the head of the paper, and publishedSpans the division of LoCoMo in the paper and its program.
const dot, publishedSpans = "dot", "full-session"

// NewRecipe returns a recipe by name. The log-probability of a Top-K is exact in all recipes. The
// reference program's is wrong for confident policies, which is a bug and not an option.
func NewRecipe(name string) (Recipe, error) {
	r := Recipe{
		Name: name, Head: policy.Tower, Spans: "fixed-length", PPO: policy.DefaultPPO(), Credit: policy.DefaultCredit(),
		Exploration: policy.DefaultExploration(), Difficulty: Linear, Edits: 3, Patience: 5, Evolutions: 20,
	}
	published := r.PPO // options that the paper and its scripts share
	published.LearningRate, published.Epochs, published.TargetKL, published.EntropyCoef = 1e-4, 2, 0.02, 0.01
	switch name {
	case TargetRecipe:
	case PaperRecipe:
		r.Head, r.Spans, r.PPO, r.AddedOnly = dot, publishedSpans, published, true
		r.PPO.ValueCoef = 1 // the paper's (V−G)² has no factor ½
		r.Credit = policy.Credit{Name: policy.Terminal}
	case CodeRecipe:
		r.Head, r.Spans, r.PPO, r.Difficulty = dot, publishedSpans, published, Log
		r.Credit = policy.Credit{Name: policy.Shaped}
		r.Exploration = policy.Exploration{Form: policy.RatioBias, Target: 0.3, Window: 25,
			MaxBias: policy.DefaultMaxBias}
	default:
		return Recipe{}, fault.New(fault.InvalidArgument, fmt.Sprintf("unknown recipe %q", name),
			"use target, paper or code")
	}
	return r, nil
}

// Shape returns the shape of the recipe's policy for vectors of dim numbers.
func (r Recipe) Shape(dim, hidden int) policy.Shape {
	if r.Head == dot {
		return policy.DotShape(dim, hidden)
	}
	return policy.TowerShape(dim, hidden)
}
