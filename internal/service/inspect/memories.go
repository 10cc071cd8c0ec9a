package inspect

import (
	"context"
	"math"
	"strconv"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/paging"
	"cairn/internal/domain/readmodel"
)

// Memories returns a page of memories, the newest first.
func (s *Service) Memories(ctx context.Context, ws int64, f readmodel.MemoryFilter, cursor string,
	limit int) (page []readmodel.Memory,
	next string, err error) {
	var max int
	f.Target = norm.NFC.String(f.Target)
	if f.Before, max, err = paging.Number(cursor, limit); err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreMemories(ctx, ws, f, listRunes, max)
	page, next = paging.Cut(rows, limit, func(last readmodel.Memory) string { return paging.ByNumber(last.Key) })
	return page, next, err
}

// Views returns a page of the runs that were shown a memory, the latest first.
func (s *Service) Views(ctx context.Context, ws int64, id, cursor string, limit int) (page []readmodel.MemoryView,
	next string,
	err error) {
	before, beforeID, max, err := paging.Time(cursor, limit)
	if err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreMemoryViews(ctx, ws, id, before, beforeID, max)
	page, next = paging.Cut(rows, limit, func(last readmodel.MemoryView) string {
		return paging.ByTime(last.At, last.Run)
	})
	return page, next, err
}

// Outbox returns a page of the tasks of the outbox: those that fail most first, then the oldest.
func (s *Service) Outbox(ctx context.Context, ws int64, cursor string, limit int) (page []readmodel.OutboxTask,
	next string,
	err error) {
	after := readmodel.OutboxKey{Failures: math.MaxInt32}
	max, err := paging.Rows(limit)
	if err == nil && cursor != "" {
		after, err = outboxKey(cursor)
	}
	if err != nil {
		return nil, "", err
	}
	rows, err := s.Store.ExploreOutbox(ctx, ws, after, max)
	page, next = paging.Cut(rows, limit, func(last readmodel.OutboxTask) string {
		return paging.Cursor(strconv.Itoa(last.Failures), strconv.FormatInt(last.CreatedAt.UnixMicro(), 10),
			strconv.FormatInt(last.ID, 10))
	})
	return page, next, err
}

func outboxKey(cursor string) (out readmodel.OutboxKey, err error) {
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
