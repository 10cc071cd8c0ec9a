package readmodel

import (
	"time"

	"cairn/internal/domain/run"
)

// Round is a round of the designer of a bank.
type Round struct {
	Number    int        `json:"round"`
	Run       string     `json:"run"`
	Base      int        `json:"base" doc:"Version of the bank from which it started"`
	Cases     int        `json:"cases" doc:"Number of hard cases that it examined"`
	Summary   string     `json:"summary,omitempty" doc:"The proposed edits"`
	Outcome   string     `json:"outcome,omitempty" doc:"Empty while it is open"`
	Note      string     `json:"note,omitempty" doc:"Why"`
	Gate      *Gate      `json:"gate,omitempty" doc:"Comparison with what live builds do; absent without one"`
	CreatedAt time.Time  `json:"created_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
}

// Gate is the comparison of a candidate on held-out conversations.
type Gate struct {
	Mean   float64 `json:"mean" doc:"Mean difference to what live builds do"`
	Lower  float64 `json:"lower" doc:"Lower bound of the mean"`
	Traces int     `json:"traces" doc:"Number of held-out conversations"`
}

// Training is a training of a bank.
type Training struct {
	Run       string      `json:"run"`
	Status    run.Status  `json:"status"`
	Outcome   run.Outcome `json:"outcome,omitempty" doc:"Empty while it is open"`
	Verdict   string      `json:"verdict,omitempty" doc:"Result of the gate; empty if it did not get there"`
	Version   int         `json:"bank_version,omitempty" doc:"Promoted version; absent without one"`
	Stages    int         `json:"stages"`
	Best      float64     `json:"best_score"`
	Note      string      `json:"note,omitempty" doc:"Why"`
	Gate      *Gate       `json:"gate,omitempty" doc:"Comparison with what live builds do; absent without one"`
	CreatedAt time.Time   `json:"created_at"`
	EndedAt   *time.Time  `json:"ended_at,omitempty"`
}

// Case is a hard case of a bank: a question that failed.
type Case struct {
	ID           int64     `json:"id"`
	Source       string    `json:"source" doc:"How it was found, such as feedback or import"`
	State        string    `json:"state" enum:"open,resolved,expired"`
	Question     string    `json:"question" doc:"Shortened"`
	Gold         []string  `json:"gold" doc:"Correct answers, if they are known"`
	Prediction   string    `json:"prediction,omitempty" doc:"The answer that failed, shortened"`
	Score        float64   `json:"score"`
	Failures     int       `json:"failures"`
	Conversation string    `json:"conversation,omitempty" doc:"Source of the answer"`
	Run          string    `json:"run,omitempty"`
	FailedAt     time.Time `json:"failed_at" doc:"Of the last failure"`
	CreatedAt    time.Time `json:"created_at"`
}

// ConversationFilter selects conversations. Zero values select all.
type ConversationFilter struct {
	Query   string // text in the name or title
	Channel string
	Before  int64 // row after which the page begins; the store's, from the cursor
}

// Turn is a turn with what it was shown and what it wrote.
type Turn struct {
	Number     int          `json:"turn"`
	MessageID  string       `json:"message_id"`
	Mode       string       `json:"mode" enum:"answer,observe"`
	Origin     string       `json:"origin"`
	Run        string       `json:"run,omitempty"`
	WorkflowID string       `json:"workflow_id,omitempty"`
	Status     string       `json:"status" enum:"accepted,ended"`
	Reason     string       `json:"reason,omitempty" doc:"Reason of its end"`
	FirstSeq   int          `json:"first_seq"`
	ReplySeq   int          `json:"reply_seq" doc:"Position of the reply, -1 without one"`
	Tainted    bool         `json:"tainted,omitempty"`
	Memories   []TurnMemory `json:"memories" doc:"Memories that it was shown"`
	Skills     []TurnSkill  `json:"skills" doc:"Skills that it has read"`
	Remembered []TurnMemory `json:"remembered" doc:"Memories that it wrote"`
	Writes     []run.Write  `json:"writes" doc:"All its writes, as its tools report them"`
	Calls      int64        `json:"calls"`
	Tokens     int64        `json:"tokens"`
	CostMicros *int64       `json:"cost_micros,omitempty" doc:"Micro-dollars, of calls with a known price; absent if no call has one"`
	AcceptedAt time.Time    `json:"accepted_at"`
	EndedAt    *time.Time   `json:"ended_at,omitempty"`
}

// TurnMemory is a memory that a turn was shown, or that it wrote.
type TurnMemory struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Target  string `json:"target,omitempty"`
	Content string `json:"content" doc:"Shortened"`
	Status  string `json:"status,omitempty" doc:"As it is now"`
	Version int    `json:"version,omitempty" doc:"The version that was written"`
	Action  string `json:"action,omitempty" doc:"What the turn did"`
}

// TurnSkill is a skill that a turn has read.
type TurnSkill struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
}

// Cost returns the cost of calls, nil if no call has a price.
func Cost(micros, calls, unpriced int64) *int64 { return cost(micros, calls, unpriced) }

// MemoryFilter selects memories. Zero values select all.
type MemoryFilter struct {
	Type   string
	Status string
	Origin string
	Target string // ID of a target
	// AnyCase also selects targets whose ID differs from Target in case only, for a name that a person has typed.
	AnyCase bool
	// AsOf selects the memories that were active at that time, with their content of then. Status and Origin do not
	// apply.
	AsOf   time.Time
	Before int64 // row after which the page begins; the store's, from the cursor
}

// Memory is a memory in a list.
type Memory struct {
	Key       int64     `json:"-"`
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Target    string    `json:"target,omitempty"`
	Content   string    `json:"content" doc:"Shortened"`
	Version   int       `json:"version"`
	Status    string    `json:"status"`
	Origin    string    `json:"origin"`
	Tainted   bool      `json:"tainted,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	// UpdatedAt is the time of the version.
	UpdatedAt time.Time `json:"updated_at"`
	// Changed reports, of a past state, that the content differs now.
	Changed bool   `json:"changed,omitempty"`
	Now     string `json:"now,omitempty"` // shortened content, if it has changed
}

// MemoryView is a run that was shown a memory.
type MemoryView struct {
	Run          string    `json:"run"`
	Kind         run.Kind  `json:"kind"`
	Conversation string    `json:"conversation,omitempty"`
	Turn         int       `json:"turn,omitempty"`
	Seq          int       `json:"seq,omitempty" doc:"First message of the turn"`
	At           time.Time `json:"at"`
}

// OutboxTask is stored work that is to be delivered.
type OutboxTask struct {
	ID          int64      `json:"id"`
	Kind        string     `json:"kind"`
	Key         string     `json:"key" doc:"What it is about, such as the ID of a run"`
	Attempts    int        `json:"attempts"`
	Failures    int        `json:"failures" doc:"Attempts in a row that failed"`
	Error       string     `json:"error,omitempty"`
	CreatedAt   time.Time  `json:"created_at"`
	DueAt       time.Time  `json:"due_at"`
	FailedSince *time.Time `json:"failed_since,omitempty"`
}

// OutboxKey is the place of a task in the list of the outbox.
type OutboxKey struct {
	Failures  int
	CreatedAt time.Time
	ID        int64
}

// RunFilter selects runs. Zero values select all.
type RunFilter struct {
	Kind         string
	Status       string
	Outcome      string
	Conversation string
	Model        string
	Since        time.Time

	Before   time.Time // position after which the page begins; the store's, from the cursor
	BeforeID string
}

// Run is a run in a list.
type Run struct {
	run.Run
	Title        string
	Conversation string
	Calls        int64
	Tokens       int64
	CostMicros   int64 // of the calls with a known price
	Unpriced     int64 // calls of models without a known price
	Models       string
}

// Cost returns the cost in micro-dollars, nil if no call has a price.
func (r Run) Cost() *int64 { return cost(r.CostMicros, r.Calls, r.Unpriced) }

func cost(micros, calls, unpriced int64) *int64 {
	if calls > 0 && unpriced == calls {
		return nil
	}
	return &micros
}

// Parts are what a run did.
type Parts struct {
	Run      run.Run
	Steps    []Step
	Tools    []AgentToolCall
	Calls    []run.Call
	Children []run.Run
}

// Step is a response of the model to an agent.
type Step struct {
	Step      int
	Note      string
	Content   string // shortened
	Runes     int    // of the whole content
	Finish    string
	CreatedAt time.Time
}

// AgentToolCall is a tool call of an agent. Arguments and result are shortened.
type AgentToolCall struct {
	Step      int        `json:"step"`
	Position  int        `json:"position"`
	Tool      string     `json:"tool"`
	Class     string     `json:"class"`
	Arguments string     `json:"arguments" doc:"Shortened; secrets are replaced"`
	Result    string     `json:"result,omitempty" doc:"Shortened; secrets are replaced"`
	Code      string     `json:"code,omitempty" doc:"Error code of a failed call"`
	BegunAt   time.Time  `json:"begun_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
}

// Usage is the usage of one model by one kind of run on one local day.
type Usage struct {
	Day      string `json:"day" doc:"Local date"`
	Model    string `json:"model"`
	Kind     string `json:"kind" doc:"Kind of the runs"`
	Calls    int64  `json:"calls"`
	Input    int64  `json:"input_tokens"`
	Output   int64  `json:"output_tokens"`
	Cached   int64  `json:"cached_tokens" doc:"Part of the input that was read from a cache"`
	Micros   int64  `json:"cost_micros" doc:"Micro-dollars, of calls with a known price"`
	Unpriced int64  `json:"unpriced_calls" doc:"Calls of models without a known price"`
	Failed   int64  `json:"failed_calls" doc:"Calls without a reply"`
}

// DayScore is the mean and the standard deviation of the scores of a day.
type DayScore struct {
	Day       string
	Canary    bool
	N         int64
	Mean      float64
	Deviation float64
}

// SkillUse is a use of a skill, with its outcome.
type SkillUse struct {
	ID           string     `json:"use_id"`
	Version      int        `json:"version"`
	Canary       bool       `json:"canary,omitempty" doc:"The conversation saw a change that was not in force"`
	Outcome      string     `json:"outcome,omitempty" enum:"pass,fail" doc:"Absent until it is stated"`
	Run          string     `json:"run,omitempty"`
	Kind         string     `json:"kind,omitempty" doc:"Of the run"`
	Conversation string     `json:"conversation,omitempty"`
	At           time.Time  `json:"at"`
	DecidedAt    *time.Time `json:"decided_at,omitempty"`
}
