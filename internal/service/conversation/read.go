package conversation

import (
	"time"

	"cairn/internal/domain/nudge"
	"cairn/internal/service/agentrun"
)

// Statuses of a turn.
const (
	StatusAccepted = "accepted" // stored, without a reply yet
	StatusEnded    = "ended"
)

// TurnStatus is the status of a turn.
type TurnStatus struct {
	Conversation string `json:"conversation"`
	MessageID    string `json:"message_id"`
	Turn         int    `json:"turn"`
	Run          string `json:"run"`
	Status       string `json:"status"` // accepted or ended
	// Reason of the end: final, budget, wall_clock, interrupted, provider_error, guardrail, lost,
	// over_budget or observed.
	Reason   string `json:"reason,omitempty"`
	Reply    string `json:"reply,omitempty"`
	ReplySeq int    `json:"reply_seq"` // position of the reply in the transcript, -1 without one
}

// View is a conversation in a list.
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

// ReviewView is a review in a list.
type ReviewView struct {
	Run       string           `json:"run"`
	Status    string           `json:"status"` // open, saved, nothing, budget or failed
	Turn      int              `json:"turn"`   // number among the counted turns
	Writes    []agentrun.Write `json:"writes,omitempty"`
	Staged    int              `json:"staged,omitempty" doc:"Proposed changes that need approval"`
	Steps     int              `json:"steps"`
	CreatedAt time.Time        `json:"created_at"`
	EndedAt   *time.Time       `json:"ended_at,omitempty"`
}
