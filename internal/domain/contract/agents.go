package contract

import (
	"crypto/sha256"
	"fmt"
	"time"
)

// Workflows of the agents of long-term memory. Each starts with an AgentInput
// and returns an AgentResult: what they came to in words is in Postgres.
const (
	Summarize  = "Summarize"
	Specialist = "Specialist"
	Retrieve   = "Retrieve"
)

// Activities of these agents.
const (
	KeepSession   = "KeepSession"   // AgentInput → KeepSessionResult
	HandOff       = "HandOff"       // ToolInput → HandOffResult
	RecordHandOff = "RecordHandOff" // RecordHandOffInput
	TakeTarget    = "TakeTarget"    // AgentInput → TakeTargetResult
	FreeTarget    = "FreeTarget"    // TargetInput
	AwaitAgent    = "AwaitAgent"    // RunRef → AgentResult
	ReadIdle      = "ReadIdle"      // IdleInput → IdleResult
)

// HandsOff is the tool whose calls become children.
const HandsOff = "hands_off"

// KeepSessionResult tells that a session is stored, or that the run is over.
type KeepSessionResult struct {
	Ended *AgentResult `json:"ended,omitempty"`
}

// HandOffResult is the specialists that a call asks for, each once. Recorded means
// that the call has its result already.
type HandOffResult struct {
	Recorded    bool           `json:"recorded,omitempty"`
	Specialists []AgentToStart `json:"specialists,omitempty"`
}

// AgentToStart is a child.
type AgentToStart struct {
	WorkflowID string     `json:"workflow_id"`
	Type       string     `json:"type"` // of the memories that it looks after
	Input      AgentInput `json:"input"`
}

// RecordHandOffInput says which runs a call to hands_off has led to.
type RecordHandOffInput struct {
	ToolInput
	Runs []int64 `json:"runs"`
}

// TakeTargetResult is a lease on the target of a run.
type TakeTargetResult struct {
	Fence int64        `json:"fence"`
	Ended *AgentResult `json:"ended,omitempty"` // an earlier attempt has brought the run to its end
}

// TargetInput gives a lease back.
type TargetInput struct {
	RunRef
	Fence int64 `json:"fence"`
}

// IdleInput asks what a conversation that nobody writes in is to be read for.
type IdleInput struct {
	Workspace    int64  `json:"workspace"`
	WorkspaceKey string `json:"workspace_key"`
	Conversation int64  `json:"conversation"`
}

// IdleResult is the runs that were made; the relay starts what is not started.
type IdleResult struct {
	Summarize int64 `json:"summarize,omitempty"`
	Distill   int64 `json:"distill,omitempty"`
	Build     int64 `json:"build,omitempty"`
}

// SummarizeID is the workflow id of a request to summarise.
func SummarizeID(workspaceKey, request string, generation int) string {
	return generationOf(fmt.Sprintf("summarize/%s/%s", workspaceKey, request), generation)
}

// RetrieveID is the workflow id of a request to retrieve.
func RetrieveID(workspaceKey, request string, generation int) string {
	return generationOf(fmt.Sprintf("retrieve/%s/%s", workspaceKey, request), generation)
}

func generationOf(id string, generation int) string {
	if generation > 1 {
		id += fmt.Sprintf("/redo-%d", generation)
	}
	return id
}

// SpecialistID is the workflow id of the specialist of one target. A target may
// be somebody's name: it appears by its hash. Part is that of a long session, from
// 1, and 0 of one that has no parts.
func SpecialistID(workspaceKey string, parent int64, kind, target string, attempt, part int) string {
	sum := sha256.Sum256([]byte(target))
	id := fmt.Sprintf("specialist/%s/%d/%s/%x", workspaceKey, parent, kind, sum[:6])
	if part > 1 {
		id += fmt.Sprintf("/part-%d", part)
	}
	if attempt > 1 {
		id += fmt.Sprintf("/retry-%d", attempt)
	}
	return id
}

// LeaseFor is how long a specialist keeps its target without a sign of life: as
// long as a step may take, with its retries.
func LeaseFor(t StepTimeouts) time.Duration { return max(3*t.Model, 2*time.Minute) }
