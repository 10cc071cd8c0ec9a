package learning

import "cairn/internal/domain/run"

// TrainingResult is the result of a training.
type TrainingResult struct {
	Outcome    run.Outcome `json:"outcome"`
	Bank       string      `json:"bank"`
	Version    int         `json:"bank_version,omitempty"` // promoted version; 0 if it did not pass the gate
	Stages     int         `json:"stages"`
	Iterations int         `json:"iterations"`
	Best       float64     `json:"best_score"`
	Policy     string      `json:"policy,omitempty"`
	Rewards    []float64   `json:"rewards"` // per iteration
	Note       string      `json:"note,omitempty"`
	// Verdict is the result of the gate: an outcome of package trial. It is empty if the training did
	// not get to the gate.
	Verdict string `json:"verdict,omitempty"`
	// Gate compares the best stage with what live builds do, with all skills, and with the best fixed
	// set, on held-out traces. It is nil if they cannot be compared. Outcomes are those of all
	// iterations.
	Gate     *Comparison     `json:"gate,omitempty"`
	Outcomes EpisodeOutcomes `json:"outcomes,omitzero"`
}
