package explore

import (
	"context"
	"time"

	"cairn/internal/domain/paging"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/conversation"
)

// ConversationFilter selects conversations. Zero values select all.
type ConversationFilter struct {
	Query   string // text in the name or title
	Channel string
	Before  int64 // row after which the page begins; the store's, from the cursor
}

// Conversations returns a page of conversations, the latest first.
func (s *Service) Conversations(ctx context.Context, ws int64, f ConversationFilter, cursor string,
	limit int) (page []conversation.View, next string, err error) {
	var max int
	if f.Before, max, err = paging.Number(cursor, limit); err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreConversations(ctx, ws, f, max)
	page, next = paging.Cut(rows, limit, func(last conversation.View) string { return paging.ByNumber(last.ID) })
	return page, next, err
}

// Turn is a turn with what it was shown and what it wrote.
type Turn struct {
	Number     int              `json:"turn"`
	MessageID  string           `json:"message_id"`
	Mode       string           `json:"mode" enum:"answer,observe"`
	Origin     string           `json:"origin"`
	Run        string           `json:"run,omitempty"`
	WorkflowID string           `json:"workflow_id,omitempty"`
	Status     string           `json:"status" enum:"accepted,ended"`
	Reason     string           `json:"reason,omitempty" doc:"Reason of its end"`
	FirstSeq   int              `json:"first_seq"`
	ReplySeq   int              `json:"reply_seq" doc:"Position of the reply, -1 without one"`
	Tainted    bool             `json:"tainted,omitempty"`
	Memories   []TurnMemory     `json:"memories" doc:"Memories that it was shown"`
	Skills     []TurnSkill      `json:"skills" doc:"Skills that it has read"`
	Remembered []TurnMemory     `json:"remembered" doc:"Memories that it wrote"`
	Writes     []agentrun.Write `json:"writes" doc:"All its writes, as its tools report them"`
	Calls      int64            `json:"calls"`
	Tokens     int64            `json:"tokens"`
	CostMicros *int64           `json:"cost_micros,omitempty" doc:"Micro-dollars, of calls with a known price; absent if no call has one"`
	AcceptedAt time.Time        `json:"accepted_at"`
	EndedAt    *time.Time       `json:"ended_at,omitempty"`
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

// Turns returns the turns of a conversation whose numbers are in a range, both ends included.
func (s *Service) Turns(ctx context.Context, ws int64, name string, from, to int) ([]Turn, error) {
	out, err := s.Store.ExploreTurns(ctx, ws, name, from, to, listRunes)
	return append([]Turn{}, out...), err
}

// Cost returns the cost of calls, nil if no call has a price.
func Cost(micros, calls, unpriced int64) *int64 { return cost(micros, calls, unpriced) }
