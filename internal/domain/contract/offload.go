package contract

import "fmt"

// Offload is the workflow of working memory: OffloadInput → OffloadResult.
const Offload = "Offload"

// Activities of working memory.
const (
	Compress     = "Compress"     // GroupInput → CompressResult
	CloseOffload = "CloseOffload" // CloseOffloadInput → OffloadResult
	AwaitOffload = "AwaitOffload" // RunRef → OffloadResult
)

// OffloadInput starts Offload. Flush is the review that comes before, nil for none.
type OffloadInput struct {
	RunRef
	Groups   int          `json:"groups"`
	Timeouts StepTimeouts `json:"timeouts"`
	Flush    *AgentInput  `json:"flush,omitempty"`
}

// OffloadToStart is a conversation that has grown too long for the model.
type OffloadToStart struct {
	WorkflowID string       `json:"workflow_id"`
	Input      OffloadInput `json:"input"`
}

// GroupInput names one group of a run.
type GroupInput struct {
	RunRef
	Group int `json:"group"`
}

// CompressResult tells whether a group has its record. Reason is the code of why not.
type CompressResult struct {
	Reason string `json:"reason,omitempty"`
}

// CloseOffloadInput ends a run. Reasons are of its groups; Code is set when the
// workflow gave up.
type CloseOffloadInput struct {
	RunRef
	Reasons []string `json:"reasons,omitempty"`
	Code    string   `json:"code,omitempty"`
	Why     string   `json:"why,omitempty"`
}

// OffloadResult is Offload's result.
type OffloadResult struct {
	Degraded bool `json:"degraded,omitempty"` // no model has made records
	Groups   int  `json:"groups"`
	Tokens   int  `json:"tokens"` // of the records
}

// OffloadID is the workflow id of a thread's offloading.
func OffloadID(workspaceKey, request string, generation int) string {
	return generationOf(fmt.Sprintf("offload/%s/%s", workspaceKey, request), generation)
}
