// Package run defines a run: an accepted unit of work with its request key, status and result. The
// run ID, never Temporal's run ID, is the root of every operation ID. A reset, a retry or a
// continue-as-new therefore finds the effects of earlier attempts.
package run

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"
)

// Kind is the kind of work of a run.
type Kind string

const (
	Distill Kind = "distill"
	Turn    Kind = "turn"  // one message with its reply
	Nudge   Kind = "nudge" // a review of a conversation

	// Kinds of the agents of long-term memory.
	Summarize  Kind = "summarize"  // extract memories from a session
	Specialist Kind = "specialist" // update the memories of one target, by hand-off from Summarize
	Retrieve   Kind = "retrieve"   // reply to a question from memory

	Completion Kind = "completion" // one reply of a model for the client of an API, without a conversation

	Reflection Kind = "reflection" // turn a local day into notes, memories and skills

	// Kinds of working memory.
	Offload Kind = "offload" // shorten a thread
	Flush   Kind = "flush"   // review a conversation before its compaction

	// Kinds of memory skills.
	Build  Kind = "build"  // extract memories from a session span by span
	Train  Kind = "train"  // train the policy of a bank
	Evolve Kind = "evolve" // improve a bank with the designer
	Adapt  Kind = "adapt"  // update the policy of a bank from live decisions
	Probe  Kind = "probe"  // ask self-test questions about the memories of a build

	Evaluate Kind = "evaluate" // measure memory skills on a data set
)

// Status is the progress of a run. It only moves forward, until a retry reopens the run.
type Status string

const (
	Accepted Status = "accepted" // stored, not yet started
	Running  Status = "running"
	Waiting  Status = "waiting" // running, but its model endpoint fails; shown by reports and never stored
	Ended    Status = "ended"
)

// Outcome is how a run ended. A failed run has an outcome; its workflow completes.
type Outcome string

const (
	Completed        Outcome = "completed"
	CompletedPartial Outcome = "completed_partial" // some tasks failed; the others have results
	NothingToExtract Outcome = "nothing_to_extract"
	Gated            Outcome = "gated"
	OverBudget       Outcome = "over_budget"
	Failed           Outcome = "failed"
	CancelledOutcome Outcome = "cancelled"
)

// Ref identifies a run in one workspace. Workflow histories contain it instead of content.
type Ref struct {
	Workspace int64  `json:"workspace"`
	Run       string `json:"run"`
}

// Run is a row of the table of runs. A request key can have several generations. A new generation
// repeats all model calls; an attempt is a retry that repeats only the missing ones.
type Run struct {
	Ref
	Kind         Kind
	Key          string // the caller's ID of the request
	Generation   int
	Attempt      int
	ArgsSHA      [sha256.Size]byte
	Conversation int64
	Spec         json.RawMessage // pinned configuration
	Status       Status
	Outcome      Outcome // empty until Status is Ended
	Reason       string
	Result       json.RawMessage
	WorkflowID   string
	CreatedAt    time.Time
	StartedAt    *time.Time
	EndedAt      *time.Time
	Pruned       Pruned
}

// Pruned is what was removed from a run after its retention.
type Pruned string

// What can be removed.
const (
	PrunedCalls Pruned = "calls" // model calls
	PrunedAll   Pruned = "all"   // also steps, tool calls and the result
)

// Op returns the operation ID of one effect of a run: <run>/<step>/<call>.
func (r Ref) Op(step string, call int) string { return fmt.Sprintf("%s/%s/%d", r.Run, step, call) }

// Summary is a run as lists show it.
type Summary struct {
	Run
	Title string
}

// Usage is the sum of a run's model calls.
type Usage struct {
	Keys       int    `json:"calls"`    // calls with a stored reply
	Attempts   int    `json:"attempts"` // requests that may have been sent
	Unknown    int    `json:"unknown"`  // attempts that were in flight at a crash and may have been billed
	Input      int64  `json:"input_tokens"`
	Output     int64  `json:"output_tokens"`
	Cached     int64  `json:"cached_tokens,omitempty"`  // part of Input that was read from a cache
	Written    int64  `json:"written_tokens,omitempty"` // part of Input that was written to a cache
	CostMicros *int64 `json:"cost_micros,omitempty"`    // nil if no price is known
	Estimated  bool   `json:"estimated,omitempty"`
}
