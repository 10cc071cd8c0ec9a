package explore

import (
	"context"
	"strconv"
	"time"

	"cairn/internal/domain/run"
)

// MemoryFilter selects memories. Zero values select all.
type MemoryFilter struct {
	Type   string
	Status string
	Origin string
	Target string
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

// Memories returns a page of memories, the newest first.
func (s *Service) Memories(ctx context.Context, ws int64, f MemoryFilter, cursor string, limit int) (page []Memory,
	next string, err error) {
	max, err := checkLimit(limit)
	if err != nil {
		return nil, "", err
	}
	if f.Before, err = row(cursor); err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreMemories(ctx, ws, f, listRunes, max)
	page, next = cut(rows, limit, func(last Memory) string { return encode(strconv.FormatInt(last.Key, 10)) })
	return page, next, err
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

// Views returns the latest runs that were shown a memory.
func (s *Service) Views(ctx context.Context, ws int64, id string, max int) ([]MemoryView, error) {
	out, err := s.Store.ExploreMemoryViews(ctx, ws, id, max)
	return append([]MemoryView{}, out...), err
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

// Outbox returns the tasks of the outbox, those that fail first.
func (s *Service) Outbox(ctx context.Context, ws int64, max int) ([]OutboxTask, error) {
	out, err := s.Store.ExploreOutbox(ctx, ws, max)
	return append([]OutboxTask{}, out...), err
}

// RetryOutbox makes a task due now.
func (s *Service) RetryOutbox(ctx context.Context, ws, id int64) error {
	return s.Store.RetryOutbox(ctx, ws, id)
}
