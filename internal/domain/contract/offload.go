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

// OffloadInput starts Offload. Flush is the review that runs first, nil for none.
type OffloadInput struct {
	RunRef
	Groups   int          `json:"groups"`
	Timeouts StepTimeouts `json:"timeouts"`
	Flush    *AgentInput  `json:"flush,omitempty"`
}

// OffloadToStart describes the compaction of a conversation that does not fit the model.
type OffloadToStart struct {
	WorkflowID string       `json:"workflow_id"`
	Input      OffloadInput `json:"input"`
}

// GroupInput identifies one group of a run.
type GroupInput struct {
	RunRef
	Group int `json:"group"`
}

// CompressResult reports whether a group has its summary. Reason is the code if it has none.
type CompressResult struct {
	Reason string `json:"reason,omitempty"`
}

// CloseOffloadInput closes a run. Reasons are the codes of its groups. Code is set if the workflow
// failed.
type CloseOffloadInput struct {
	RunRef
	Reasons []string `json:"reasons,omitempty"`
	Code    string   `json:"code,omitempty"`
	Why     string   `json:"why,omitempty"`
}

// OffloadResult is the result of Offload.
type OffloadResult struct {
	Degraded bool `json:"degraded,omitempty"` // no model wrote summaries
	Groups   int  `json:"groups"`
	Tokens   int  `json:"tokens"` // of the summaries
}

// OffloadID returns the workflow ID of the offloading of a thread.
func OffloadID(workspaceKey, request string, generation int) string {
	return generationOf(fmt.Sprintf("offload/%s/%s", workspaceKey, request), generation)
}
