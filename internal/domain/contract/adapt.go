package contract

import "fmt"

// Adapt lets the policy of a bank learn from live decisions.
const Adapt = "Adapt" // AdaptInput → AdaptResult

// Activities of an update.
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

// OpenAdaptResult counts the decisions that an update learns from.
type OpenAdaptResult struct {
	Decisions int          `json:"decisions"`
	Ended     *AdaptResult `json:"ended,omitempty"` // an earlier attempt has ended it
}

// AdaptPolicyResult counts the conversations to try the new policy on.
type AdaptPolicyResult struct {
	Trials int `json:"trials"`
}

// AdaptResult is Adapt's result.
type AdaptResult struct {
	Outcome   string `json:"outcome"`
	Decisions int    `json:"decisions"`
	Update    int    `json:"update"` // its number
	Policy    string `json:"policy"` // its hash
}

// AdaptID is the workflow id of an update.
func AdaptID(workspaceKey, bank, key string, generation int) string {
	return generationOf(fmt.Sprintf("adapt/%s/%s/%s", workspaceKey, VisibleKey(bank), key), generation)
}
