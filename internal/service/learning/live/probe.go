package live

import "cairn/internal/domain/run"

// FromProbe is the source of an outcome that comes from a probe.
const FromProbe = "probe"

// States of a probe. Only scored probes are used for learning.
const (
	StateOpen     = "open"
	StateScored   = "scored"
	StateUnscored = "unscored" // its subject was erased, or learning is frozen
	StateError    = "error"    // a dependency failed
)

// ProbeResult is the result of a probing run.
type ProbeResult struct {
	Outcome  run.Outcome `json:"outcome"`
	Bank     string      `json:"bank"`
	Probes   int         `json:"probes"`
	Scored   int         `json:"scored"`
	Unscored int         `json:"unscored,omitempty"`
	Errors   int         `json:"errors,omitempty"`
	Mean     float64     `json:"mean"` // of the scores
}
