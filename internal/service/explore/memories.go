package explore

import (
	"context"
	"math"
	"strconv"
	"time"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/paging"
	"cairn/internal/domain/run"
)

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

// Memories returns a page of memories, the newest first.
func (s *Service) Memories(ctx context.Context, ws int64, f MemoryFilter, cursor string, limit int) (page []Memory,
	next string, err error) {
	var max int
	f.Target = norm.NFC.String(f.Target)
	if f.Before, max, err = paging.Number(cursor, limit); err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreMemories(ctx, ws, f, listRunes, max)
	page, next = paging.Cut(rows, limit, func(last Memory) string { return paging.ByNumber(last.Key) })
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

// Views returns a page of the runs that were shown a memory, the latest first.
func (s *Service) Views(ctx context.Context, ws int64, id, cursor string, limit int) (page []MemoryView, next string,
	err error) {
	before, beforeID, max, err := paging.Time(cursor, limit)
	if err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreMemoryViews(ctx, ws, id, before, beforeID, max)
	page, next = paging.Cut(rows, limit, func(last MemoryView) string { return paging.ByTime(last.At, last.Run) })
	return page, next, err
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

// Outbox returns a page of the tasks of the outbox: those that fail most first, then the oldest.
func (s *Service) Outbox(ctx context.Context, ws int64, cursor string, limit int) (page []OutboxTask, next string,
	err error) {
	after := OutboxKey{Failures: math.MaxInt32}
	max, err := paging.Rows(limit)
	if err == nil && cursor != "" {
		after, err = outboxKey(cursor)
	}
	if err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreOutbox(ctx, ws, after, max)
	page, next = paging.Cut(rows, limit, func(last OutboxTask) string {
		return paging.Cursor(strconv.Itoa(last.Failures), strconv.FormatInt(last.CreatedAt.UnixMicro(), 10),
			strconv.FormatInt(last.ID, 10))
	})
	return page, next, err
}

// OutboxKey is the place of a task in the list of the outbox.
type OutboxKey struct {
	Failures  int
	CreatedAt time.Time
	ID        int64
}

func outboxKey(cursor string) (out OutboxKey, err error) {
	key, err := paging.Key(cursor, 3)
	if err != nil {
		return out, err
	}
	failures, err := paging.Integer(key[0])
	if err == nil && failures == int64(int32(failures)) {
		out.Failures = int(failures)
		out.CreatedAt, err = paging.Moment(key[1])
	}
	if err == nil {
		out.ID, err = paging.Integer(key[2])
	}
	return out, err
}

// RetryOutbox makes a task due now.
func (s *Service) RetryOutbox(ctx context.Context, ws, id int64) error {
	return s.Store.RetryOutbox(ctx, ws, id)
}
