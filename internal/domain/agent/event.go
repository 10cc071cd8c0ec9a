package agent

import "time"

// Reason is why a run ended.
type Reason string

const (
	Final         Reason = "final"          // the model replied without being asked to finish
	Exhausted     Reason = "budget"         // all units are spent: a partial success
	WallClock     Reason = "wall_clock"     // the time limit is over
	Interrupted   Reason = "interrupted"    // cancelled, or an internal failure
	ProviderError Reason = "provider_error" // the model endpoint failed
	Guardrail     Reason = "guardrail"      // the loop guard demanded a final reply
	Lost          Reason = "lost"           // its workflows closed again and again without ending it
	OverBudget    Reason = "over_budget"    // the workspace's daily tokens or cost are spent
	ClientTools   Reason = "client_tools"   // the model called tools that the client of the API runs
)

// CallRef identifies a tool call of a reply without its content.
type CallRef struct {
	Index int    `json:"index"` // position among the calls of the reply, from 0
	Tool  string `json:"tool"`
	Class Class  `json:"class"`
}

// Event is something that happened to a run: one of the types below.
type Event interface{ event() }

// Begin starts a run.
type Begin struct {
	At     time.Time // the workflow's clock
	Budget Budget
}

// StepDone reports one model call. A reply that is not Final and has no Calls is treated as
// Unusable. The calls of an unusable reply are not run.
type StepDone struct {
	Calls []CallRef `json:"calls,omitempty"`
	// the reply is final, and the step has closed the run with it
	Final bool `json:"final,omitempty"`
	// a reply without calls ends one part of the work, and another part follows
	More     bool `json:"more,omitempty"`
	Unusable bool `json:"unusable,omitempty"` // malformed or empty, not caused by the task
	// the loop guard tripped on the calls of the previous reply
	Tripped bool `json:"tripped,omitempty"`
	// no model call was made: the workspace's budget is spent
	OverBudget bool `json:"over_budget,omitempty"`
	// the reply also calls tools of the client, which are not in Calls: the run ends after Calls
	Client bool `json:"client,omitempty"`
}

// ToolsRan reports that every call of the last RunTools has an outcome. A failed tool also has an
// outcome.
type ToolsRan struct{}

// Failed reports that an activity failed permanently.
type Failed struct {
	Provider bool // the model endpoint failed
}

// DeadlinePassed reports that State.Deadline has passed.
type DeadlinePassed struct{}

// Cancelled reports that the run was cancelled.
type Cancelled struct{}

func (Begin) event()          {}
func (StepDone) event()       {}
func (ToolsRan) event()       {}
func (Failed) event()         {}
func (DeadlinePassed) event() {}
func (Cancelled) event()      {}

// Effect is the next action: one of the types below.
type Effect interface{ effect() }

// Step is one model call. Before the call, the step runs the fast tool calls of the previous reply.
// If Unrun is set, it skips them for that reason.
type Step struct {
	N int `json:"n"` // number of the step, from 1; unique in the run
	// the reply must be final: tools stay listed, but none may be called
	Toolless bool       `json:"toolless,omitempty"`
	Last     bool       `json:"last,omitempty"` // no other call follows
	Unrun    SkipReason `json:"unrun,omitempty"`
	Left     int        `json:"left,omitempty"` // units left after this one, stated to the model; 0 states nothing
}

// RunTools runs calls of the last reply in their order, each as an activity or a child workflow. It
// holds the calls that are not fast. With Last it holds all calls, because no step follows that
// would run the fast ones.
type RunTools struct {
	Calls []CallRef
	Last  bool
}

// End closes the run.
type End struct {
	Reason Reason
	Closed bool // the last step has already closed the run with its reply
}

func (Step) effect()     {}
func (RunTools) effect() {}
func (End) effect()      {}
