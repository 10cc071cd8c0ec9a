package conversation

import (
	"time"

	"cairn/internal/domain/nudge"
	"cairn/internal/service/agentrun"
)

// Statuses of a turn.
const (
	StatusAccepted = "accepted" // durable, and being answered
	StatusEnded    = "ended"
)

// TurnStatus is a turn as its gateway sees it.
type TurnStatus struct {
	Conversation string `json:"conversation"`
	MessageID    string `json:"message_id"`
	Turn         int    `json:"turn"`
	Run          int64  `json:"run"`
	Status       string `json:"status"` // accepted, ended
	// why it ended: final, budget, wall_clock, interrupted, provider_error, guardrail, over_budget, observed
	Reason   string `json:"reason,omitempty"`
	Reply    string `json:"reply,omitempty"`
	ReplySeq int    `json:"reply_seq"` // of the answer in the transcript, -1 while there is none
}

// View is a conversation as lists show it.
type View struct {
	ID         int64          `json:"-"`
	Name       string         `json:"conversation"`
	Channel    string         `json:"channel"`
	Title      string         `json:"title"`
	Messages   int            `json:"messages"`
	Turns      int            `json:"turns"`
	Counters   nudge.Counters `json:"counters"`
	CreatedAt  time.Time      `json:"created_at"`
	LastTurnAt *time.Time     `json:"last_turn_at,omitempty"`
	ClosedAt   *time.Time     `json:"closed_at,omitempty"`
}

// ReviewView is a nudge as lists show it.
type ReviewView struct {
	Run       int64            `json:"run"`
	Status    string           `json:"status"` // open, saved, nothing, budget, failed
	Turn      int              `json:"turn"`   // its number among the turns that count
	Writes    []agentrun.Write `json:"writes,omitempty"`
	Staged    int              `json:"staged,omitempty" doc:"Changes that it has proposed and a person is to decide about"`
	Steps     int              `json:"steps"`
	CreatedAt time.Time        `json:"created_at"`
	EndedAt   *time.Time       `json:"ended_at,omitempty"`
}
