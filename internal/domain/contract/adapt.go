package contract

import "fmt"

// Adapt updates the policy of a bank from live decisions.
const Adapt = "Adapt" // AdaptInput → AdaptResult

// Activities of Adapt.
const (
	OpenAdapt   = "OpenAdapt"   // AdaptInput → OpenAdaptResult
	AdaptPolicy = "AdaptPolicy" // AdaptInput → AdaptPolicyResult
	ShadowTrial = "ShadowTrial" // TrialInput
	CloseAdapt  = "CloseAdapt"  // CloseInput → AdaptResult
)

// AdaptInput starts Adapt.
type AdaptInput struct {
	RunRef
	Timeouts StepTimeouts `json:"timeouts"`
}

// OpenAdaptResult holds the number of decisions that the update learns from.
type OpenAdaptResult struct {
	Decisions int          `json:"decisions"`
	Ended     *AdaptResult `json:"ended,omitempty"` // an earlier attempt has ended the update
}

// AdaptPolicyResult holds the number of conversations for the trial of the new policy.
type AdaptPolicyResult struct {
	Trials int `json:"trials"`
}

// AdaptResult is the result of Adapt.
type AdaptResult struct {
	Outcome   string `json:"outcome"`
	Decisions int    `json:"decisions"`
	Update    int    `json:"update"` // number of the update
	Policy    string `json:"policy"` // hash of the policy
}

// AdaptID returns the workflow ID of an update.
func AdaptID(workspaceKey, bank, key string, generation int) string {
	return generationOf(fmt.Sprintf("adapt/%s/%s/%s", workspaceKey, VisibleKey(bank), key), generation)
}
