package train

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/service/learning/bank"
)

// Spec is the pinned configuration of a training.
type Spec struct {
	bank.RunSpec
	Keeping    bank.SpanOptions `json:"keeping"`
	Bank       string           `json:"bank"`
	BankID     int64            `json:"bank_id"`
	Base       int              `json:"base"` // version of the bank on which it is based
	Recipe     string           `json:"recipe"`
	Stages     int              `json:"stages"`
	Iterations int              `json:"iterations"` // per stage
	Episodes   int              `json:"episodes"`   // per iteration
	Parallel   int              `json:"parallel"`   // concurrent episodes; does not change the result
	Seed       string           `json:"seed"`
	Score      string           `json:"score"`
	Design     bool             `json:"design"` // run a designer round after each stage
	// RefineOnly lets the designer only refine skills.
	RefineOnly bool `json:"refine_only,omitempty"`
	// Share of a trace's questions per episode, by category; 0 and 1 mean all.
	Sample float64 `json:"sample,omitempty"`
	// Fuse is how the policy fuses the memories near a span: mean or sim_weighted. Empty means like
	// the active policy. Temperature is τ of sim_weighted; 0 means the default.
	Fuse        string  `json:"fuse,omitempty"`
	Temperature float64 `json:"fuse_temperature,omitempty"`
	Traces      []int64 `json:"traces"` // training conversations
	// Held are the held-out conversations. The trained version is promoted only if it is better on
	// them than the active one.
	Held []int64 `json:"held"`
}

// Request is a request to train the policy of a bank, and to edit the bank if Design is set.
type Request struct {
	Workspace    int64
	WorkspaceKey string
	ID           string // request ID of the caller; empty derives it from the settings and the bank's version
	Spec
}

// Defaults of a training, as published.
const (
	DefaultStages     = 10
	DefaultIterations = 100
	DefaultEpisodes   = 4
)

// withDefaults sets missing options and validates them.
func (spec Spec) withDefaults() (Spec, error) {
	spec.Bank = bank.OrDefault(spec.Bank)
	for _, d := range []struct {
		value *int
		usual int
	}{{&spec.Stages, DefaultStages}, {&spec.Iterations, DefaultIterations}, {&spec.Episodes, DefaultEpisodes},
		{&spec.Parallel, DefaultEpisodes}} {
		if *d.value = cmp.Or(*d.value, d.usual); *d.value < 1 || *d.value > 10_000 {
			return spec, fault.Newf(fault.InvalidArgument, "invalid training option %d: must be 1 to 10,000",
				*d.value)
		}
	}
	spec.Recipe = cmp.Or(spec.Recipe, memoryskill.TargetRecipe)
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return spec, err
	}
	spec.Keeping.Mode = cmp.Or(spec.Keeping.Mode, recipe.Spans)
	spec.Keeping = spec.Keeping.WithDefaults()
	if err := spec.Keeping.Check(); err != nil {
		return spec, err
	}
	spec.Score = cmp.Or(spec.Score, bank.ByRecall)
	if err := designer.CheckScore(spec.Score); err != nil {
		return spec, err
	}
	if !(spec.Sample >= 0 && spec.Sample <= 1) {
		return spec, fault.Newf(fault.InvalidArgument, "invalid share of questions %v: must be 0 to 1", spec.Sample)
	}
	spec.Seed = cmp.Or(spec.Seed, "42")
	return spec, nil
}

// key returns a key of the settings and the version of the bank.
func (spec Spec) key() string {
	spec.Parallel, spec.RunSpec = 0, bank.RunSpec{}
	settings, _ := json.Marshal(spec)
	return fmt.Sprintf("%x", sha256.Sum256(settings))[:20]
}
