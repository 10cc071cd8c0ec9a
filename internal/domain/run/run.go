// Package run is the business side of a piece of work: what was asked, under
// which key, and what came of it. A run's id, never Temporal's run id, is the
// root of every key under which an effect is recorded, so a reset, a retry or a
// continue-as-new finds what an earlier attempt did.
package run

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// Kind is what sort of work a run is.
type Kind string

const (
	Distill Kind = "distill"
	Turn    Kind = "turn"  // one message with its answer
	Nudge   Kind = "nudge" // a review of what was said

	// Of the agents of long-term memory.
	Summarize  Kind = "summarize"  // a session becomes memories
	Specialist Kind = "specialist" // what one of them hands off: the memories of one target
	Retrieve   Kind = "retrieve"   // a question is answered from memory

	Reflection Kind = "reflection" // a local day becomes notes, memories and skills

	// Of working memory.
	Offload Kind = "offload" // what a thread put away is recorded
	Flush   Kind = "flush"   // what a conversation says is looked through before its record takes its place

	// Of memory skills.
	Build  Kind = "build"  // a session becomes memories, span by span
	Train  Kind = "train"  // the policy of a bank learns
	Evolve Kind = "evolve" // the designer edits a bank
	Adapt  Kind = "adapt"  // the policy of a bank learns from live decisions
	Probe  Kind = "probe"  // memory asks itself what a build has remembered
)

// Status is how far a run is. It only moves forward, until a retry reopens it.
type Status string

const (
	Accepted Status = "accepted" // durable, not yet picked up
	Running  Status = "running"
	Ended    Status = "ended"
)

// Outcome is how a run ended. Domain trouble is an outcome, never a failed workflow.
type Outcome string

const (
	Completed        Outcome = "completed"
	CompletedPartial Outcome = "completed_partial" // some tasks failed, the others stand
	NothingToExtract Outcome = "nothing_to_extract"
	Gated            Outcome = "gated"
	OverBudget       Outcome = "over_budget"
	Failed           Outcome = "failed"
	CancelledOutcome Outcome = "cancelled"
)

// Ref points to a run in one workspace. It is what travels through workflow
// histories in place of everything else.
type Ref struct {
	Workspace int64 `json:"workspace"`
	Run       int64 `json:"run"`
}

// Run is one row. A caller's key may have several generations: a generation is
// a deliberate redo that pays again, an attempt is a retry that pays only for
// what is missing.
type Run struct {
	Ref
	Kind         Kind
	Key          string // the caller's id of the request
	Generation   int
	Attempt      int
	ArgsSHA      [sha256.Size]byte
	Conversation int64
	Spec         json.RawMessage // pinned configuration
	Status       Status
	Outcome      Outcome // empty until Ended
	Reason       string
	Result       json.RawMessage
	WorkflowID   string
	CreatedAt    time.Time
	StartedAt    *time.Time
	EndedAt      *time.Time
}

// Op names one effect of a run: <run>/<step>/<call>.
func (r Ref) Op(step string, call int) string { return fmt.Sprintf("%d/%s/%d", r.Run, step, call) }

// Summary is a run as lists show it.
type Summary struct {
	Run
	Title string
}

// Usage adds up a run's model calls.
type Usage struct {
	Keys       int    `json:"calls"`    // calls whose reply counts
	Attempts   int    `json:"attempts"` // requests that may have been sent
	Unknown    int    `json:"unknown"`  // of these, in flight at a crash: perhaps paid
	Input      int64  `json:"input_tokens"`
	Output     int64  `json:"output_tokens"`
	CostMicros *int64 `json:"cost_micros,omitempty"` // nil when no price is known
	Estimated  bool   `json:"estimated,omitempty"`
}
