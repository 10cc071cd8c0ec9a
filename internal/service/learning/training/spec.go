package training

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/episode"
	"cairn/internal/service/learning/runspec"
)

// Spec is what a training is pinned to.
type Spec struct {
	runspec.Spec
	Keeping    runspec.SpanOptions `json:"keeping"`
	Bank       string              `json:"bank"`
	BankID     int64               `json:"bank_id"`
	Base       int                 `json:"base"` // version of the bank that it began on
	Recipe     string              `json:"recipe"`
	Stages     int                 `json:"stages"`
	Iterations int                 `json:"iterations"` // of a stage
	Episodes   int                 `json:"episodes"`   // of an iteration
	Parallel   int                 `json:"parallel"`   // episodes at once; the result is the same for any
	Seed       string              `json:"seed"`
	Score      string              `json:"score"`
	Design     bool                `json:"design"` // a round of the designer after each stage
	// share of a trace's questions that an episode asks, by category; 0 and 1 are all
	Sample float64 `json:"sample,omitempty"`
	// Fuse is how the policy fuses the memories near a span, mean or sim_weighted;
	// empty is as the policy in force does. Temperature is τ of sim_weighted, 0 the
	// default.
	Fuse        string  `json:"fuse,omitempty"`
	Temperature float64 `json:"fuse_temperature,omitempty"`
	Traces      []int64 `json:"traces"` // conversations to train on
	// Held are the conversations that are not trained on: what was trained comes into
	// force only when it is better on them than what is.
	Held []int64 `json:"held"`
}

// Request asks to train a bank's policy, and with Design the bank too.
type Request struct {
	Workspace    int64
	WorkspaceKey string
	ID           string // the caller's; empty takes it from the settings and the bank's version
	Spec
}

// Defaults of a training: what was published.
const (
	DefaultStages     = 10
	DefaultIterations = 100
	DefaultEpisodes   = 4
	skillsPerSpan     = 3
)

// withDefaults fills what is open, and refuses what nothing can be trained by.
func (spec Spec) withDefaults() (Spec, error) {
	spec.Bank = bank.OrDefault(spec.Bank)
	for _, d := range []struct {
		value *int
		usual int
	}{{&spec.Stages, DefaultStages}, {&spec.Iterations, DefaultIterations}, {&spec.Episodes, DefaultEpisodes},
		{&spec.Parallel, DefaultEpisodes}} {
		if *d.value = cmp.Or(*d.value, d.usual); *d.value < 1 || *d.value > 10_000 {
			return spec, fault.Newf(fault.InvalidArgument, "a setting of the training is %d; it is 1 to 10,000",
				*d.value)
		}
	}
	spec.Recipe = cmp.Or(spec.Recipe, memoryskill.TargetRecipe)
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return spec, err
	}
	spec.Keeping.Mode = cmp.Or(spec.Keeping.Mode, recipe.Spans)
	spec.Keeping = spec.Keeping.WithDefaults(skillsPerSpan)
	if err := spec.Keeping.Check(); err != nil {
		return spec, err
	}
	spec.Score = cmp.Or(spec.Score, episode.ByRecall)
	if spec.Score != episode.ByRecall && spec.Score != episode.ByAnswer {
		return spec, fault.New(fault.InvalidArgument, fmt.Sprintf("answers cannot be scored by %q", spec.Score),
			"use recall or answer")
	}
	if !(spec.Sample >= 0 && spec.Sample <= 1) {
		return spec, fault.Newf(fault.InvalidArgument, "the share of questions is %v; it is 0 to 1", spec.Sample)
	}
	spec.Seed = cmp.Or(spec.Seed, "42")
	spec.Model, err = spec.Model.WithInstructions()
	return spec, err
}

// key names a training by its settings and the version of its bank.
func (spec Spec) key() string {
	spec.Parallel, spec.Spec = 0, runspec.Spec{}
	settings, _ := json.Marshal(spec)
	return fmt.Sprintf("%x", sha256.Sum256(settings))[:20]
}
