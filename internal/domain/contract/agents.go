package contract

import (
	"crypto/sha256"
	"fmt"
	"time"
)

// Workflows of the agents of long-term memory. Each takes an AgentInput and returns an AgentResult.
// Their reports are stored in Postgres.
const (
	Summarize  = "Summarize"
	Specialist = "Specialist"
	Retrieve   = "Retrieve"
)

// Completion asks a model for one reply, without a conversation. It takes an AgentInput and returns an
// AgentResult.
const Completion = "Completion"

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

// HandsOff is the tool whose calls start child workflows.
const HandsOff = "hands_off"

// KeepSessionResult reports that a session is stored, or that the run has ended.
type KeepSessionResult struct {
	Ended *AgentResult `json:"ended,omitempty"`
}

// HandOffResult lists the specialists that a call requests, each once. Recorded means that the call
// already has its result.
type HandOffResult struct {
	Recorded    bool           `json:"recorded,omitempty"`
	Specialists []AgentToStart `json:"specialists,omitempty"`
}

// AgentToStart describes a child workflow.
type AgentToStart struct {
	WorkflowID string     `json:"workflow_id"`
	Type       string     `json:"type"` // type of the memories that it maintains
	Input      AgentInput `json:"input"`
}

// RecordHandOffInput lists the runs that a call to hands_off has started.
type RecordHandOffInput struct {
	ToolInput
	Runs []string `json:"runs"`
}

// TakeTargetResult is a lease on the target of a run.
type TakeTargetResult struct {
	Fence int64        `json:"fence"`
	Ended *AgentResult `json:"ended,omitempty"` // an earlier attempt has ended the run
}

// TargetInput releases a lease.
type TargetInput struct {
	RunRef
	Fence int64 `json:"fence"`
}

// IdleInput selects the work that an idle conversation needs.
type IdleInput struct {
	Workspace    int64  `json:"workspace"`
	WorkspaceKey string `json:"workspace_key"`
	Conversation int64  `json:"conversation"`
}

// IdleResult lists the runs that were created. The relay starts the ones that are not started.
type IdleResult struct {
	Summarize string `json:"summarize,omitempty"`
	Distill   string `json:"distill,omitempty"`
	Build     string `json:"build,omitempty"`
}

// SummarizeID returns the workflow ID of a summary request.
func SummarizeID(workspaceKey, request string, generation int) string {
	return generationOf(fmt.Sprintf("summarize/%s/%s", workspaceKey, request), generation)
}

// RetrieveID returns the workflow ID of a retrieval request.
func RetrieveID(workspaceKey, request string, generation int) string {
	return generationOf(fmt.Sprintf("retrieve/%s/%s", workspaceKey, request), generation)
}

// CompletionID returns the workflow ID of a completion.
func CompletionID(workspaceKey, request string, generation int) string {
	return generationOf(fmt.Sprintf("completion/%s/%s", workspaceKey, request), generation)
}

func generationOf(id string, generation int) string {
	if generation > 1 {
		id += fmt.Sprintf("/redo-%d", generation)
	}
	return id
}

// SpecialistID returns the workflow ID of the specialist of one target. The ID contains the hash of
// the target, because a target may be a person's name. Part is the part of a long session, from 1,
// and 0 for a session without parts.
func SpecialistID(workspaceKey, parent, kind, target string, attempt, part int) string {
	sum := sha256.Sum256([]byte(target))
	id := fmt.Sprintf("specialist/%s/%s/%s/%x", workspaceKey, parent, kind, sum[:6])
	if part > 1 {
		id += fmt.Sprintf("/part-%d", part)
	}
	if attempt > 1 {
		id += fmt.Sprintf("/retry-%d", attempt)
	}
	return id
}

// LeaseFor returns how long a specialist keeps its target without a heartbeat: the duration of a
// step with its retries, and at least 2 minutes.
func LeaseFor(t StepTimeouts) time.Duration { return max(3*t.Model, 2*time.Minute) }
