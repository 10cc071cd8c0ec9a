package contract

import "fmt"

// Evolve is a round of the designer.
const Evolve = "Evolve" // EvolveInput → EvolveResult

// Activities of Evolve.
const (
	OpenRound   = "OpenRound"   // EvolveInput → OpenRoundResult
	MineRound   = "MineRound"   // EvolveInput → MineRoundResult
	DesignRound = "DesignRound" // EvolveInput → DesignRoundResult
	Trial       = "Trial"       // TrialInput
	CloseRound  = "CloseRound"  // CloseInput → EvolveResult
)

// EvolveInput starts Evolve.
type EvolveInput struct {
	RunRef
	Timeouts StepTimeouts `json:"timeouts"`
}

// OpenRoundResult reports whether an earlier attempt has ended the round.
type OpenRoundResult struct {
	Ended *EvolveResult `json:"ended,omitempty"`
}

// MineRoundResult holds the number of cases of a round.
type MineRoundResult struct {
	Cases int `json:"cases"`
}

// DesignRoundResult holds the number of conversations for the trial of a candidate, 0 without a
// candidate.
type DesignRoundResult struct {
	Trials int `json:"trials"`
}

// TrialInput identifies one conversation of a trial.
type TrialInput struct {
	RunRef
	Trial int `json:"trial"`
}

// EvolveResult is the result of Evolve.
type EvolveResult struct {
	Outcome string  `json:"outcome"`
	Cases   int     `json:"cases"`
	Traces  int     `json:"traces"`
	Mean    float64 `json:"mean"` // mean of candidate − incumbent
}

// EvolveID returns the workflow ID of a round of evolution.
func EvolveID(workspaceKey, bank, key string) string {
	return fmt.Sprintf("evolve/%s/%s/%s", workspaceKey, VisibleKey(bank), key)
}
