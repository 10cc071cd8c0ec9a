package agent

import "time"

// Reason is why a run ended.
type Reason string

const (
	Final         Reason = "final"          // the model answered of its own accord
	Exhausted     Reason = "budget"         // the units are spent: a partial success
	WallClock     Reason = "wall_clock"     // the time is up
	Interrupted   Reason = "interrupted"    // cancelled, or a fault of ours
	ProviderError Reason = "provider_error" // the model could not be had
	Guardrail     Reason = "guardrail"      // the loop guard demanded an answer
	OverBudget    Reason = "over_budget"    // the workspace's tokens or money are spent
)

// CallRef names a tool call of a reply without its content.
type CallRef struct {
	Index int    `json:"index"` // place among the calls of the reply, from 0
	Tool  string `json:"tool"`
	Class Class  `json:"class"`
}

// Event is what has happened to a run: one of the types below.
type Event interface{ event() }

// Begin opens a run.
type Begin struct {
	At     time.Time // the workflow's clock
	Budget Budget
}

// StepDone reports one model call. A reply without Calls that is not Final counts
// as Unusable, and the calls of an unusable reply are not run.
type StepDone struct {
	Calls []CallRef `json:"calls,omitempty"`
	// the reply is the answer, and the step has closed the run with it
	Final bool `json:"final,omitempty"`
	// a reply without calls ends a part of the work, and another follows
	More     bool `json:"more,omitempty"`
	Unusable bool `json:"unusable,omitempty"` // malformed or empty, through no fault of the task
	// every call of the reply before this one failed with unavailable
	AllUnavailable bool `json:"all_unavailable,omitempty"`
	// every call of this reply is to a tool that costs no thought
	Cheap bool `json:"cheap,omitempty"`
	// the loop guard tripped over the calls before this reply
	Tripped bool `json:"tripped,omitempty"`
	// nothing was asked: the workspace has nothing left to pay with
	OverBudget bool `json:"over_budget,omitempty"`
}

// ToolsRan reports that every call of the last RunTools has an outcome; a failed
// tool is an outcome too.
type ToolsRan struct{}

// Failed reports that an activity failed for good.
type Failed struct {
	Provider bool // the model's endpoint was at fault
}

// DeadlinePassed reports that State.Deadline is over.
type DeadlinePassed struct{}

// Cancelled reports that the run is no longer wanted.
type Cancelled struct{}

func (Begin) event()          {}
func (StepDone) event()       {}
func (ToolsRan) event()       {}
func (Failed) event()         {}
func (DeadlinePassed) event() {}
func (Cancelled) event()      {}

// Effect is what is to be done next: one of the types below.
type Effect interface{ effect() }

// Step is one model call. Before it asks, the step runs the fast calls that the
// previous reply left, unless Unrun says why they are answered without.
type Step struct {
	N int `json:"n"` // 1 for the first model call of the run; no number is used twice
	// the reply must be the answer: tools stay listed, none may be chosen
	Toolless bool       `json:"toolless,omitempty"`
	Last     bool       `json:"last,omitempty"`  // whatever the reply is, no other is asked for, a refund excepted
	Grace    bool       `json:"grace,omitempty"` // outside the budget
	Unrun    SkipReason `json:"unrun,omitempty"`
	Left     int        `json:"left,omitempty"` // units after this one, which the model is told; 0 tells nothing
}

// RunTools is calls of the last reply in their order, an activity or a child
// each. It holds those that are not fast; with Last it holds all of them, for no
// step follows that would run the fast ones.
type RunTools struct {
	Calls []CallRef
	Last  bool
}

// End closes the run.
type End struct {
	Reason Reason
	Closed bool // the last step has closed it with an answer; otherwise nobody has yet
}

func (Step) effect()     {}
func (RunTools) effect() {}
func (End) effect()      {}
