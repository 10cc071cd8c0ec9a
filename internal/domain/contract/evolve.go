package contract

import "fmt"

// Evolve is a round of the designer.
const Evolve = "Evolve" // EvolveInput → EvolveResult

// Activities of a round.
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

// OpenRoundResult tells whether an earlier attempt has ended the round.
type OpenRoundResult struct {
	Ended *EvolveResult `json:"ended,omitempty"`
}

// MineRoundResult counts the cases of a round.
type MineRoundResult struct {
	Cases int `json:"cases"`
}

// DesignRoundResult counts the conversations to try a candidate on; 0 without one.
type DesignRoundResult struct {
	Trials int `json:"trials"`
}

// TrialInput names one of them.
type TrialInput struct {
	RunRef
	Trial int `json:"trial"`
}

// EvolveResult is Evolve's result.
type EvolveResult struct {
	Outcome string  `json:"outcome"`
	Cases   int     `json:"cases"`
	Traces  int     `json:"traces"`
	Mean    float64 `json:"mean"` // of candidate − incumbent
}

// EvolveID is the workflow id of a round of evolution.
func EvolveID(workspaceKey, bank, key string) string {
	return fmt.Sprintf("evolve/%s/%s/%s", workspaceKey, VisibleKey(bank), key)
}
