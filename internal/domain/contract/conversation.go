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
	Transcribe        = "Transcribe"
	Step              = "Step"
	RunTool           = "RunTool"
	CloseAgent        = "CloseAgent"
	OpenNudge         = "OpenNudge"
	AwaitTurn         = "AwaitTurn"
	CountTurn         = "CountTurn"
	ApproveWrite      = "ApproveWrite"
	CloseConversation = "CloseConversation"
)

// Updates, signals and queries of Conversation.
const (
	UpdateTurn         = "turn"            // TurnRef → TurnResult; the update ID is the channel's message ID
	UpdateApproveWrite = "approveWrite"    // ApproveWriteInput → ApproveWriteResult
	UpdateEnd          = "endConversation" // → ConversationView
	SignalNudgeDone    = "nudgeDone"       // NudgeResult
	SignalCancelTurn   = "cancelTurn"      // CancelTurnInput
	SignalSettings     = "settingsChanged" // SettingsInput
	QueryState         = "state"           // → ConversationView; an agent run, such as a turn, returns its agent.State
)

// TurnLost is the error type of an update whose turn workflow was terminated. The message is
// unchanged and can be sent again under another update ID.
const TurnLost = "turn_lost"

// RollingOver is the error type of an update that is rejected while a Conversation continues as
// new. Send it again under the same ID.
const RollingOver = "rolling_over"

// Observed is the end reason of an observed turn, which the caller's agent has answered.
const Observed agent.Reason = "observed"

// Modes of a turn.
const (
	Answer  = "answer"  // Cairn replies
	Observe = "observe" // the caller's agent replies; Cairn records and counts the turn
)

// ConversationInput starts Conversation, and carries its state through continue-as-new.
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
	Close time.Duration `json:"close"` // time without a turn until the conversation closes
	Turns int           `json:"turns"` // turns until it continues as new; the server may suggest it earlier
}

// ConversationState is the complete state of a Conversation. Turns are stored in Postgres. If the
// state is lost, the counters are read from there.
type ConversationState struct {
	Known      bool            `json:"known"` // false: the next turn loads the stored counters
	Counters   nudge.Counters  `json:"counters"`
	Settings   nudge.Settings  `json:"settings"`
	Seen       nudge.RecentIDs `json:"seen"`
	LastTurn   time.Time       `json:"last_turn"`
	LastNumber int             `json:"last_number"` // of the latest turn
	NudgeFrom  time.Time       `json:"nudge_from"`  // start of the nudge in flight
	Timeouts   StepTimeouts    `json:"timeouts"`    // of the latest turn

	// Stopped lists messages that are closed without work whenever they arrive.
	Stopped []string `json:"stopped,omitempty"`

	// Idle is the time from the latest turn until the conversation is processed for long-term
	// memory; 0 means never.
	Idle    time.Duration `json:"idle,omitempty"`
	ReadFor time.Time     `json:"read_for,omitzero"` // latest turn at the last processing
}

// ConversationView is the result of the state query.
type ConversationView struct {
	Counters nudge.Counters `json:"counters"`
	Turns    int            `json:"turns"`             // of this run of the workflow
	Busy     int            `json:"busy"`              // updates that are waiting or in progress
	Answers  string         `json:"answers,omitempty"` // message in progress
	LastTurn time.Time      `json:"last_turn"`
	Settings nudge.Settings `json:"settings"` // review settings in effect
}

// TurnRef identifies one accepted turn, with its pinned values.
type TurnRef struct {
	Number     int            `json:"number"`
	MessageID  string         `json:"message_id"`
	Mode       string         `json:"mode"`
	Run        string         `json:"run"`
	Attempt    int            `json:"attempt"`
	WorkflowID string         `json:"workflow_id"`
	Budget     agent.Budget   `json:"budget"`
	Timeouts   StepTimeouts   `json:"timeouts"`
	Settings   nudge.Settings `json:"settings"`

	// Idle is the time after the turn until the conversation is processed for long-term memory; 0
	// means never.
	Idle  time.Duration `json:"idle,omitempty"`
	Queue string        `json:"queue,omitempty"` // task queue of its workflow; empty means the conversation's queue
	Voice bool          `json:"voice,omitempty"` // the message has recordings to transcribe
}

// AgentInput starts Turn. It holds what the agent loop needs for any run.
type AgentInput struct {
	RunRef
	Kind         string           `json:"kind"` // turn or nudge; for the details in Temporal UI
	Conversation int64            `json:"conversation"`
	Number       int              `json:"number"` // number of the turn
	Budget       agent.Budget     `json:"budget"`
	Timeouts     StepTimeouts     `json:"timeouts"`
	Queue        string           `json:"queue"` // task queue of its steps
	Base         ConversationBase `json:"base"`

	Interval time.Duration `json:"interval,omitempty"` // between the starts of two tool calls of one response
	Voice    bool          `json:"voice,omitempty"`    // of a turn: its messages have recordings to transcribe
}

// Delivery identifies an attempt at a turn in its conversation, and is the ID of its update. It is the
// message ID for the first attempt. No message ID contains the separator of later ones.
func (t TurnRef) Delivery() string {
	if t.Attempt <= 1 {
		return t.MessageID
	}
	return fmt.Sprintf("%s\x1f%d", t.MessageID, t.Attempt)
}

// TurnResult is the result of a turn. Known means that the turn had been answered earlier. Its
// result is then in Postgres, and the other fields are empty.
type TurnResult struct {
	Number   int          `json:"number"`
	Known    bool         `json:"known,omitempty"`
	Reason   agent.Reason `json:"reason"`
	ReplySeq int          `json:"reply_seq"` // -1 without a reply
	Steps    int          `json:"steps"`
}

// StepInput requests one model response.
type StepInput struct {
	RunRef
	agent.Step
	Base ConversationBase `json:"base"`
}

// ConversationBase holds the counters of a conversation before a turn. If they are not known, the
// stored ones are used.
type ConversationBase struct {
	Known    bool           `json:"known"`
	Counters nudge.Counters `json:"counters"`
	Fence    int64          `json:"fence,omitempty"` // fencing token of the lease under which an agent works
	// Compacts means that the workflow compacts a conversation that does not fit the model.
	Compacts bool `json:"compacts,omitempty"`
}

// StepResult is the result of a Step: the event for the loop, and the result of the run if the step
// has closed it.
type StepResult struct {
	agent.StepDone
	Ended *AgentResult `json:"ended,omitempty"`

	// Overflow is set if the conversation does not fit the model. The step has made no model call,
	// and must be repeated after the compaction.
	Overflow *OffloadToStart `json:"overflow,omitempty"`
}

// AgentResult is the result of a run of the agent loop.
type AgentResult struct {
	Reason   agent.Reason   `json:"reason"`
	Steps    int            `json:"steps"`            // model responses
	Saved    int            `json:"saved"`            // writes that took effect
	ReplySeq int            `json:"reply_seq"`        // of a turn's reply, -1 if there is none
	Counters nudge.Counters `json:"counters"`         // of the conversation, after a turn
	MayNudge bool           `json:"may_nudge"`        // after a turn: the daily cap allows another review
	Status   string         `json:"status,omitempty"` // of a nudge: saved, nothing, budget, failed or capped
}

// ToolInput requests one slow call of a response.
type ToolInput struct {
	RunRef
	Step     int              `json:"step"`
	Position int              `json:"position"`
	Base     ConversationBase `json:"base,omitzero"`
}

// CloseAgentInput closes a run that has no last response.
type CloseAgentInput struct {
	RunRef
	Reason agent.Reason     `json:"reason"`
	Detail string           `json:"detail,omitempty"` // code of the failure
	Base   ConversationBase `json:"base"`
}

// NudgeInput starts Nudge, the review of the turns since the last review.
type NudgeInput struct {
	Workspace    int64          `json:"workspace"`
	WorkspaceKey string         `json:"workspace_key"`
	Conversation int64          `json:"conversation"`
	Channel      string         `json:"channel"`
	Parent       string         `json:"parent"` // workflow ID to report to
	Number       int            `json:"number"` // number among the eligible turns
	Turn         int            `json:"turn"`   // position of the last turn to review
	Memory       bool           `json:"memory"`
	Skill        bool           `json:"skill"`
	Counters     nudge.Counters `json:"counters"` // after the start
	Timeouts     StepTimeouts   `json:"timeouts"`
}

// OpenNudgeResult is the run of a nudge. Ended is set if an earlier attempt has ended it.
type OpenNudgeResult struct {
	RunRef
	Budget   agent.Budget `json:"budget"`
	Timeouts StepTimeouts `json:"timeouts"`
	Ended    *AgentResult `json:"ended,omitempty"`
}

// NudgeResult is the result of a nudge.
type NudgeResult struct {
	Number int    `json:"number"`
	Run    string `json:"run"`
	Status string `json:"status"` // saved, nothing, budget, failed or capped
	Saved  int    `json:"saved"`  // writes that took effect
	Steps  int    `json:"steps"`
}

// CancelTurnInput ends a turn with the results so far.
type CancelTurnInput struct {
	MessageID string `json:"message_id"` // empty for the turn in progress
}

// SettingsInput holds the workspace settings that a conversation follows.
type SettingsInput struct {
	nudge.Settings
	Idle *time.Duration `json:"idle,omitempty"` // as in TurnRef; nil means unchanged
}

// CountInput requests the counting of an observed turn.
type CountInput struct {
	RunRef
	Base ConversationBase `json:"base"`
}

// ApproveWriteInput approves or rejects a pending change.
type ApproveWriteInput struct {
	Workspace int64 `json:"workspace"`
	Pending   int64 `json:"pending"`
	Approve   bool  `json:"approve"`
}

// ApproveWriteResult is the result of the decision.
type ApproveWriteResult struct {
	Skill   int64 `json:"skill"`
	Version int   `json:"version"`
}

// CloseConversationInput stores the state of a conversation when its workflow ends.
type CloseConversationInput struct {
	Workspace    int64          `json:"workspace"`
	Conversation int64          `json:"conversation"`
	Ended        bool           `json:"ended"` // ended by its user, not by the idle timeout
	Counters     nudge.Counters `json:"counters"`
}

// ConversationID returns the workflow ID of a conversation. It contains the row ID, because a
// caller's name for the conversation may be a phone number.
func ConversationID(workspaceKey string, conversation int64) string {
	return fmt.Sprintf("conversation/%s/%d", workspaceKey, conversation)
}

// TurnID returns the workflow ID of an attempt at a turn. Message is the channel's message ID in
// its visible form.
func TurnID(workspaceKey string, conversation int64, message string, attempt int) string {
	id := fmt.Sprintf("turn/%s/%d/%s", workspaceKey, conversation, message)
	if attempt > 1 {
		id += fmt.Sprintf("/retry-%d", attempt)
	}
	return id
}

// NudgeID returns the workflow ID of a nudge. number is the number of its turn among the eligible
// turns.
func NudgeID(workspaceKey string, conversation int64, number int) string {
	return fmt.Sprintf("nudge/%s/%d/%d", workspaceKey, conversation, number)
}
