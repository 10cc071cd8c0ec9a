package agentrun

import (
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/run"
)

// Limits bound what one request of an agent may hold.
type Limits struct {
	HistoryTurns int `json:"history_turns"` // earlier turns that are shown, where Window is 0
	// of what was said before, together; 0 is as many as the window has room for
	HistoryTokens int `json:"history_tokens"`
	// tokens that the model takes; 0 of runs that were pinned before it was known
	Window        int `json:"window,omitempty"`
	ResultChars   int `json:"result_chars"`   // of one tool result, in prompts; the store keeps all of it
	MaxTokens     int `json:"max_tokens"`     // of one response
	NudgeMessages int `json:"nudge_messages"` // of the unreviewed tail, word for word; older ones are clipped
	// of all requests of a run that nobody waits for, together; 0 is no limit
	InputTokens int `json:"input_tokens,omitempty"`
}

// Timing bounds the activities of a run.
type Timing struct {
	Model     time.Duration `json:"model"`     // one step, its tools included
	Tool      time.Duration `json:"tool"`      // one tool call
	Heartbeat time.Duration `json:"heartbeat"` // silence after which a worker is taken for dead
	Database  time.Duration `json:"database"`  // one database step
	GiveUp    time.Duration `json:"give_up"`   // a step with all its retries; the wall clock of a budget comes first
}

// Spec is a run's configuration, pinned when the run is made: a deploy changes
// neither what a run under way is told nor how far it may go.
type Spec struct {
	Origin     agent.Origin   `json:"origin"` // agent, nudge
	Channel    string         `json:"channel"`
	Lang       string         `json:"lang"`
	Model      string         `json:"model"`
	Budget     agent.Budget   `json:"budget"`
	Settings   nudge.Settings `json:"settings"`
	Limits     Limits         `json:"limits"`
	Timing     Timing         `json:"timing"`
	SessionTTL time.Duration  `json:"session_ttl"` // counted from a session's creation

	// Of a turn.
	Number    int    `json:"number,omitempty"` // of a nudge: among the turns that count
	MessageID string `json:"message_id,omitempty"`
	Mode      string `json:"mode,omitempty"`

	// after a turn, until the conversation is read for long-term memory; 0 is never
	Idle time.Duration `json:"idle,omitempty"`

	// Of a nudge: it has no session, its request is pinned as a whole.
	System   string     `json:"system,omitempty"`
	Tools    []llm.Tool `json:"tools,omitempty"`
	Material string     `json:"material,omitempty"`
	After    int        `json:"after,omitempty"` // the last turn that was reviewed before
	Turn     int        `json:"turn,omitempty"`  // the last turn to review
	FromSeq  int        `json:"from_seq,omitempty"`
	ToSeq    int        `json:"to_seq,omitempty"`
	Tainted  bool       `json:"tainted,omitempty"`
	Date     string     `json:"date,omitempty"` // of a flush: local, as 2026-03-01

	// Of an agent of long-term memory, and of the agent that answers turns.
	Agent    string          `json:"agent,omitempty"`    // who answers: empty for the usual one, or remy
	Toolsets []agent.ToolSet `json:"toolsets,omitempty"` // of a turn: groups of tools beside the usual ones, sorted
	Pinned   json.RawMessage `json:"pinned,omitempty"`   // what the Agent of the run's kind is pinned to
	Ordered  bool            `json:"ordered,omitempty"`  // calls of one response run in the order of the tools
	Interval time.Duration   `json:"interval,omitempty"` // between the starts of two calls of one response
}

// Timeouts bounds the activities of a run, as workflows see it.
func (s Spec) Timeouts() contract.StepTimeouts {
	t := s.Timing
	return contract.StepTimeouts{Model: t.Model, Heartbeat: t.Heartbeat, Database: t.Database, GiveUp: t.GiveUp}
}

// Encode is the form that a run is pinned to.
func (s Spec) Encode() (json.RawMessage, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the configuration: %w", err)
	}
	return raw, nil
}

// SpecOf reads the configuration that r is pinned to.
func SpecOf(r run.Run) (s Spec, err error) {
	if err = json.Unmarshal(r.Spec, &s); err != nil {
		err = fmt.Errorf("decode the configuration of run %d: %w", r.Ref.Run, err)
	}
	return s, err
}
