package contract

import (
	"fmt"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/nudge"
)

// Workflows of conversations.
const (
	Conversation = "Conversation"
	Turn         = "Turn"
	Nudge        = "Nudge"
)

// Activities of conversations and of the agents that run in them.
const (
	Step              = "Step"
	RunTool           = "RunTool"
	CloseAgent        = "CloseAgent"
	OpenNudge         = "OpenNudge"
	AwaitTurn         = "AwaitTurn"
	CountTurn         = "CountTurn"
	ApproveWrite      = "ApproveWrite"
	CloseConversation = "CloseConversation"
)

// What is said to a Conversation while it runs.
const (
	UpdateTurn         = "turn"            // TurnRef → TurnResult; the update's id is the channel's id of the message
	UpdateApproveWrite = "approveWrite"    // ApproveWriteInput → ApproveWriteResult
	UpdateEnd          = "endConversation" // → ConversationView
	SignalNudgeDone    = "nudgeDone"       // NudgeResult
	SignalCancelTurn   = "cancelTurn"      // CancelTurnInput
	SignalSettings     = "settingsChanged" // SettingsInput
	QueryState         = "state"           // → ConversationView; of a run of an agent, such as a turn, its agent.State
)

// TurnLost is the type of the error of an update whose turn's workflow did not
// live to its end: the message is as it was, and may be brought again under
// another update id.
const TurnLost = "turn_lost"

// RollingOver is the type of the error with which an update is turned away while
// a Conversation continues as new: send it again, under the same id.
const RollingOver = "rolling_over"

// Observed is why an observed turn ended: a gateway's own agent has answered it.
const Observed agent.Reason = "observed"

// Modes of a turn.
const (
	Answer  = "answer"  // Cairn answers
	Observe = "observe" // the gateway has an agent of its own: what was said is recorded and counted
)

// ConversationInput starts Conversation, and carries it over a continue-as-new.
type ConversationInput struct {
	Workspace    int64              `json:"workspace"`
	WorkspaceKey string             `json:"workspace_key"`
	Conversation int64              `json:"conversation"`
	Channel      string             `json:"channel"`
	Limits       ConversationLimits `json:"limits"`
	State        ConversationState  `json:"state"`
}

// ConversationLimits bound one run of a Conversation.
type ConversationLimits struct {
	Close time.Duration `json:"close"` // without a turn, after which it ends
	Turns int           `json:"turns"` // after which it continues as new; the server's own advice comes first
}

// ConversationState is all that a Conversation knows. The truth of each turn is
// in Postgres; from there the counters are read again when this was lost.
type ConversationState struct {
	Known      bool            `json:"known"` // the counters are: else the next turn finds the stored ones
	Counters   nudge.Counters  `json:"counters"`
	Settings   nudge.Settings  `json:"settings"`
	Seen       nudge.RecentIDs `json:"seen"`
	LastTurn   time.Time       `json:"last_turn"`
	LastNumber int             `json:"last_number"` // of the latest turn
	NudgeFrom  time.Time       `json:"nudge_from"`  // when the nudge in flight began
	Timeouts   StepTimeouts    `json:"timeouts"`    // of the latest turn

	// messages that are to be answered with nothing done, whenever they come
	Stopped []string `json:"stopped,omitempty"`

	// after the latest turn, until the conversation is read; 0 is never
	Idle    time.Duration `json:"idle,omitempty"`
	ReadFor time.Time     `json:"read_for,omitzero"` // the latest turn when it was last read
}

// ConversationView is what a query shows.
type ConversationView struct {
	Counters nudge.Counters `json:"counters"`
	Turns    int            `json:"turns"`             // of this run of the workflow
	Busy     int            `json:"busy"`              // updates that wait or are being handled
	Answers  string         `json:"answers,omitempty"` // the message that is being answered
	LastTurn time.Time      `json:"last_turn"`
	Settings nudge.Settings `json:"settings"` // in force for its reviews
}

// TurnRef points to one accepted turn. It carries what was pinned for it.
type TurnRef struct {
	Number     int            `json:"number"`
	MessageID  string         `json:"message_id"`
	Mode       string         `json:"mode"`
	Run        int64          `json:"run"` // 0 for an observed turn
	Attempt    int            `json:"attempt"`
	WorkflowID string         `json:"workflow_id"`
	Budget     agent.Budget   `json:"budget"`
	Timeouts   StepTimeouts   `json:"timeouts"`
	Settings   nudge.Settings `json:"settings"`

	// after it, until the conversation is read for long-term memory; 0 is never
	Idle  time.Duration `json:"idle,omitempty"`
	Queue string        `json:"queue,omitempty"` // that its workflow runs on; empty is the conversation's own
}

// AgentInput starts Turn, and is what the agent loop needs of any run.
type AgentInput struct {
	RunRef
	Kind         string           `json:"kind"` // turn, nudge: for the lines that Temporal UI shows
	Conversation int64            `json:"conversation"`
	Number       int              `json:"number"` // of the turn
	Budget       agent.Budget     `json:"budget"`
	Timeouts     StepTimeouts     `json:"timeouts"`
	Queue        string           `json:"queue"` // where its steps run
	Base         ConversationBase `json:"base"`

	Interval time.Duration `json:"interval,omitempty"` // between the starts of two calls of one response
}

// TurnResult is what became of a turn. Known means that it had been answered
// before; then there is nothing else to tell, Postgres has it.
type TurnResult struct {
	Number   int          `json:"number"`
	Known    bool         `json:"known,omitempty"`
	Reason   agent.Reason `json:"reason"`
	ReplySeq int          `json:"reply_seq"` // -1 without an answer
	Steps    int          `json:"steps"`
}

// StepInput asks for one model response.
type StepInput struct {
	RunRef
	agent.Step
	Base ConversationBase `json:"base"`
}

// ConversationBase is where a conversation's counters stand before a turn. Unless they are
// known, the stored ones are taken.
type ConversationBase struct {
	Known    bool           `json:"known"`
	Counters nudge.Counters `json:"counters"`
	Fence    int64          `json:"fence,omitempty"` // of the lease under which an agent works
	// the workflow has a conversation made shorter that does not fit
	Compacts bool `json:"compacts,omitempty"`
}

// StepResult is what a Step did: what the loop must know, and what became of
// the run when the step has closed it.
type StepResult struct {
	agent.StepDone
	Ended *AgentResult `json:"ended,omitempty"`

	// Overflow is a conversation that does not fit. The step has asked nothing, and
	// is to be done again when it was made shorter.
	Overflow *OffloadToStart `json:"overflow,omitempty"`
}

// AgentResult is what became of a run of the agent loop.
type AgentResult struct {
	Reason   agent.Reason   `json:"reason"`
	Steps    int            `json:"steps"`            // model responses
	Saved    int            `json:"saved"`            // writes that took effect
	ReplySeq int            `json:"reply_seq"`        // of a turn's answer, -1 when there is none
	Counters nudge.Counters `json:"counters"`         // of the conversation, after a turn
	MayNudge bool           `json:"may_nudge"`        // after a turn: today's cap leaves room
	Status   string         `json:"status,omitempty"` // of a nudge: saved nothing budget failed capped
}

// ToolInput asks for one slow call of a response.
type ToolInput struct {
	RunRef
	Step     int              `json:"step"`
	Position int              `json:"position"`
	Base     ConversationBase `json:"base,omitzero"`
}

// CloseAgentInput closes a run whose last response never came.
type CloseAgentInput struct {
	RunRef
	Reason agent.Reason     `json:"reason"`
	Detail string           `json:"detail,omitempty"` // the code of what went wrong
	Base   ConversationBase `json:"base"`
}

// NudgeInput starts Nudge, the review of what was said since the last one.
type NudgeInput struct {
	Workspace    int64          `json:"workspace"`
	WorkspaceKey string         `json:"workspace_key"`
	Conversation int64          `json:"conversation"`
	Channel      string         `json:"channel"`
	Parent       string         `json:"parent"` // workflow id to report to
	Number       int            `json:"number"` // of the turn among those that count
	Turn         int            `json:"turn"`   // its place: the last one to review
	Memory       bool           `json:"memory"`
	Skill        bool           `json:"skill"`
	Counters     nudge.Counters `json:"counters"` // after the start
	Timeouts     StepTimeouts   `json:"timeouts"`
}

// OpenNudgeResult is a nudge's run. Ended is set when an earlier attempt finished it.
type OpenNudgeResult struct {
	RunRef
	Budget   agent.Budget `json:"budget"`
	Timeouts StepTimeouts `json:"timeouts"`
	Ended    *AgentResult `json:"ended,omitempty"`
}

// NudgeResult is what a nudge came to.
type NudgeResult struct {
	Number int    `json:"number"`
	Run    int64  `json:"run"`
	Status string `json:"status"` // saved nothing budget failed capped
	Saved  int    `json:"saved"`  // writes that took effect
	Steps  int    `json:"steps"`
}

// CancelTurnInput asks for a turn to be answered with what is there.
type CancelTurnInput struct {
	MessageID string `json:"message_id"` // empty for whichever is being answered
}

// SettingsInput is what a conversation follows of its workspace's settings.
type SettingsInput struct {
	nudge.Settings
	Idle *time.Duration `json:"idle,omitempty"` // as of TurnRef; nil leaves it
}

// CountInput asks for an observed turn to be counted.
type CountInput struct {
	RunRef
	Base ConversationBase `json:"base"`
}

// ApproveWriteInput decides about a change that waits for approval.
type ApproveWriteInput struct {
	Workspace int64 `json:"workspace"`
	Pending   int64 `json:"pending"`
	Approve   bool  `json:"approve"`
}

// ApproveWriteResult is what became of it.
type ApproveWriteResult struct {
	Skill   int64 `json:"skill"`
	Version int   `json:"version"`
}

// CloseConversationInput writes down where a conversation stands when its
// workflow ends.
type CloseConversationInput struct {
	Workspace    int64          `json:"workspace"`
	Conversation int64          `json:"conversation"`
	Ended        bool           `json:"ended"` // by its user, not by silence
	Counters     nudge.Counters `json:"counters"`
}

// ConversationID is the workflow id of a conversation. It names the row, never
// what a gateway calls it: that may be somebody's phone number.
func ConversationID(workspaceKey string, conversation int64) string {
	return fmt.Sprintf("conversation/%s/%d", workspaceKey, conversation)
}

// TurnID is the workflow id of a turn's attempt. Message is the channel's id of
// the message, as it may be shown.
func TurnID(workspaceKey string, conversation int64, message string, attempt int) string {
	id := fmt.Sprintf("turn/%s/%d/%s", workspaceKey, conversation, message)
	if attempt > 1 {
		id += fmt.Sprintf("/retry-%d", attempt)
	}
	return id
}

// NudgeID is the workflow id of the nudge after the turn of that number among
// those that count.
func NudgeID(workspaceKey string, conversation int64, number int) string {
	return fmt.Sprintf("nudge/%s/%d/%d", workspaceKey, conversation, number)
}
