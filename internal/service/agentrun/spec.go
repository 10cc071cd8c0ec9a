package agentrun

import (
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/media"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/run"
)

// Limits bound the content of a request.
type Limits struct {
	HistoryTurns int `json:"history_turns"` // earlier turns to show if Window is 0
	// HistoryTokens limits all earlier messages together. 0 uses the remaining window.
	HistoryTokens int `json:"history_tokens"`
	// Window is the context window of the model in tokens, 0 for runs pinned before it was recorded.
	Window        int `json:"window,omitempty"`
	ResultChars   int `json:"result_chars"`   // of one tool result in prompts; the store keeps the full result
	MaxTokens     int `json:"max_tokens"`     // of one response
	NudgeMessages int `json:"nudge_messages"` // unreviewed messages to show verbatim; older ones are clipped
	// InputTokens limits all requests of an autonomous run together. 0 means no limit.
	InputTokens int `json:"input_tokens,omitempty"`
}

// Timing bounds the activities of a run.
type Timing struct {
	Model     time.Duration `json:"model"`     // one step, including its tools
	Tool      time.Duration `json:"tool"`      // one tool call
	Heartbeat time.Duration `json:"heartbeat"` // silence after which a worker counts as dead
	Database  time.Duration `json:"database"`  // one database step
	// a step with all its retries; the time limit of a budget applies first
	GiveUp time.Duration `json:"give_up"`
}

// Spec is the configuration of a run, pinned when the run is created. A deployment changes neither
// the prompt nor the limits of a run in progress.
type Spec struct {
	Origin     agent.Origin   `json:"origin"` // agent, nudge
	Channel    string         `json:"channel"`
	Lang       string         `json:"lang"`
	Model      string         `json:"model"`
	Budget     agent.Budget   `json:"budget"`
	Settings   nudge.Settings `json:"settings"`
	Limits     Limits         `json:"limits"`
	Timing     Timing         `json:"timing"`
	SessionTTL time.Duration  `json:"session_ttl"` // from the creation of a session

	// Fields of a turn.
	Number    int    `json:"number,omitempty"` // of a review: number among the counted turns
	MessageID string `json:"message_id,omitempty"`
	Mode      string `json:"mode,omitempty"`

	PlainTurns bool   `json:"plain_turns,omitempty"` // secrets in messages and results are not replaced
	Stream     bool   `json:"stream,omitempty"`      // a caller reads along while the model writes
	Deliver    bool   `json:"deliver,omitempty"`     // the reply is sent to the chat of the conversation
	Redirect   bool   `json:"redirect,omitempty"`    // if a later message cancels the turn, its reply is not sent
	Client     Client `json:"client,omitzero"`       // of a turn: what the client of the API adds to its requests

	Images bool           `json:"images,omitempty"` // Model takes images
	Voice  int            `json:"voice,omitempty"`  // recordings of the user's messages
	Unread []media.Unread `json:"unread,omitempty"` // files of the messages that were not read; the reply states why

	// Idle is the time after a turn until the conversation is read for long-term memory. 0 means never.
	Idle time.Duration `json:"idle,omitempty"`

	// Fields of a review. It has no session; its whole request is pinned.
	System   string     `json:"system,omitempty"`
	Tools    []llm.Tool `json:"tools,omitempty"`
	Material string     `json:"material,omitempty"`
	After    int        `json:"after,omitempty"` // last turn of the previous review
	Turn     int        `json:"turn,omitempty"`  // last turn to review
	FromSeq  int        `json:"from_seq,omitempty"`
	ToSeq    int        `json:"to_seq,omitempty"`
	Tainted  bool       `json:"tainted,omitempty"`
	Date     string     `json:"date,omitempty"` // of a flush: local date, for example 2026-03-01

	// Fields of memory agents and of the agent that answers turns.
	Agent    string          `json:"agent,omitempty"`    // agent that answers: empty for the default one, or remy
	Toolsets []agent.ToolSet `json:"toolsets,omitempty"` // of a turn: additional groups of tools, sorted
	Denied   []string        `json:"denied,omitempty"`   // of a turn: tools that it does not have, sorted
	Pinned   json.RawMessage `json:"pinned,omitempty"`   // pinned data of the run's Agent
	Ordered  bool            `json:"ordered,omitempty"`  // calls of one response run in the order of the tools
	Interval time.Duration   `json:"interval,omitempty"` // between the starts of two calls of one response
}

// Client is what the client of an OpenAI-compatible API adds to the model requests of a turn.
type Client struct {
	Instructions string         `json:"instructions,omitempty"` // follow the instructions of the session
	Tools        []llm.Tool     `json:"tools,omitempty"`        // that the client runs
	ToolChoice   llm.ToolChoice `json:"tool_choice,omitempty"`  // among them
	Temperature  *float64       `json:"temperature,omitempty"`
	Sampling     llm.Sampling   `json:"sampling,omitzero"`
	// Response is what a later request for the response of the turn shows of this request.
	Response json.RawMessage `json:"response,omitempty"`
}

// Timeouts returns the activity timeouts in the form that workflows use.
func (s Spec) Timeouts() contract.StepTimeouts {
	t := s.Timing
	return contract.StepTimeouts{Model: t.Model, Heartbeat: t.Heartbeat, Database: t.Database, GiveUp: t.GiveUp}
}

// Encode returns the JSON form stored with the run.
func (s Spec) Encode() (json.RawMessage, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode the configuration: %w", err)
	}
	return raw, nil
}

// SpecOf decodes the pinned configuration of r.
func SpecOf(r run.Run) (s Spec, err error) {
	if err = json.Unmarshal(r.Spec, &s); err != nil {
		err = fmt.Errorf("decode the configuration of run %s: %w", r.Ref.Run, err)
	}
	return s, err
}
