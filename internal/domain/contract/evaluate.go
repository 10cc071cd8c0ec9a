package contract

import "fmt"

// Evaluate measures memory skills on a data set.
const Evaluate = "Evaluate" // EvaluateInput → EvaluateResult

// Activities of Evaluate.
const (
	OpenEvaluation  = "OpenEvaluation"  // EvaluateInput → OpenEvaluationResult
	StartUnit       = "StartUnit"       // UnitInput → StartUnitResult
	AwaitUnit       = "AwaitUnit"       // UnitInput
	AskUnit         = "AskUnit"         // AskUnitInput
	CloseEvaluation = "CloseEvaluation" // CloseInput → EvaluateResult
)

// EvaluateInput starts Evaluate. From is the first unit that is left after a continue-as-new.
type EvaluateInput struct {
	RunRef
	Timeouts StepTimeouts `json:"timeouts"`
	From     int          `json:"from,omitempty"`
}

// OpenEvaluationResult holds the number of units of work. The units from Prepared on need the
// results of those before.
type OpenEvaluationResult struct {
	Units    int             `json:"units"`
	Prepared int             `json:"prepared"`
	Parallel int             `json:"parallel"` // units that run concurrently
	Ended    *EvaluateResult `json:"ended,omitempty"`
}

// UnitInput identifies one unit: a training, or a conversation with one row of the table.
type UnitInput struct {
	RunRef
	Unit int `json:"unit"`
}

// StartUnitResult is what is left of a unit: whether a run has to end, and the number of groups of
// questions.
type StartUnitResult struct {
	Await  bool `json:"await,omitempty"`
	Groups int  `json:"groups,omitempty"`
}

// AskUnitInput identifies one group of questions of a unit.
type AskUnitInput struct {
	UnitInput
	Group int `json:"group"`
}

// EvaluateResult is the result of Evaluate.
type EvaluateResult struct {
	Outcome string `json:"outcome"`
	Rows    int    `json:"rows"`
}

// EvaluateID returns the workflow ID of an evaluation.
func EvaluateID(workspaceKey, key string) string {
	return fmt.Sprintf("evaluate/%s/%s", workspaceKey, key)
}
