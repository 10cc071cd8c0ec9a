package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/store/dbsqlc"
)

// PutPendingMemory stores a pending write.
func (q PendingMemoryRepository) PutPendingMemory(ctx context.Context, p memory.Pending,
	w memory.Writer) (int64, error) {
	operations, err := encode("the operations", p.Operations)
	if err != nil {
		return 0, err
	}
	base, err := encode("the versions", p.Base)
	if err != nil {
		return 0, err
	}
	run, conversation, from, to := provenance(w)
	id, err := q.q.PendingMemoryInsert(ctx,
		dbsqlc.PendingMemoryInsertParams{WorkspaceID: q.ws, Type: string(p.Store), Operations: operations, Base: base,
			Adds: int32(p.Adds),
			Gist: storable(p.Gist), Risk: texts(p.Risk), Reason: p.Reason, Origin: w.Origin, Tainted: w.Tainted,
			RunID: run,
			OpID:  w.Op, ConversationID: conversation, FromSeq: from, ToSeq: to})
	if err != nil {
		return 0, classify("store the pending write", err)
	}
	request := channel.ApprovalRequest(fmt.Sprintf("m%d", id), p.Reason, p.Lines()...)
	return id, Tx(q).DeliverHome(ctx, fmt.Sprintf("memory/%d", id), request)
}

// PendingMemory reads and locks a pending write.
func (q PendingMemoryRepository) PendingMemory(ctx context.Context, id int64) (memory.Pending, error) {
	r, err := q.q.PendingMemoryGet(ctx, dbsqlc.PendingMemoryGetParams{WorkspaceID: q.ws, ID: id})
	if isNoRows(err) {
		if expired, err := q.q.PendingMemoryExpired(ctx,
			dbsqlc.PendingMemoryExpiredParams{WorkspaceID: q.ws, ID: id}); err != nil || expired {
			return memory.Pending{}, cmp.Or(classify("read the pending write", err),
				error(fault.New(fault.NotFound, fmt.Sprintf(
					"write %d has expired: no decision within 30 days", id), "write it again").
					With("state", "expired")))
		}
		return memory.Pending{}, fault.New(fault.NotFound,
			fmt.Sprintf("pending memory write %d not found", id),
			"use the ID of a pending write")
	}
	if err != nil {
		return memory.Pending{}, classify("read the pending write", err)
	}
	return pendingMemoryOf(r)
}

// PendingMemories lists the pending writes, the oldest first, followed by the expired ones.
func (q PendingMemoryRepository) PendingMemories(ctx context.Context, max int) ([]memory.Pending, error) {
	if _, err := q.q.PendingMemoryExpire(ctx, q.ws); err != nil {
		return nil, classify("expire pending writes", err)
	}
	rows, err := q.q.PendingMemoryList(ctx, dbsqlc.PendingMemoryListParams{WorkspaceID: q.ws, MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list the pending writes", err)
	}
	out := make([]memory.Pending, len(rows))
	for i, r := range rows {
		if out[i], err = pendingMemoryOf(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// CountPendingMemories returns the number of pending writes.
func (q PendingMemoryRepository) CountPendingMemories(ctx context.Context) (int, error) {
	n, err := q.q.PendingMemoryCount(ctx, q.ws)
	return int(n), classify("count the pending writes", err)
}

// DecideMemory ends a pending write.
func (q PendingMemoryRepository) DecideMemory(ctx context.Context, id int64, state string) error {
	n, err := q.q.PendingMemoryDecide(ctx, dbsqlc.PendingMemoryDecideParams{State: state, WorkspaceID: q.ws, ID: id})
	return oneRow("decide the pending write", n, err)
}

func pendingMemoryOf(r dbsqlc.PendingMemory) (memory.Pending, error) {
	p := memory.Pending{ID: r.ID, Store: memory.Type(r.Type), Adds: int(r.Adds), Gist: r.Gist, Risk: r.Risk,
		Reason: r.Reason, Origin: r.Origin, Tainted: r.Tainted, Run: text(r.RunID),
		Evidence: evidenceOf(r.ConversationID, r.FromSeq, r.ToSeq), State: r.State, CreatedAt: r.CreatedAt,
		ExpiresAt: r.ExpiresAt}
	if err := json.Unmarshal(r.Operations, &p.Operations); err != nil {
		return p, fmt.Errorf("decode the operations of pending write %d: %w", r.ID, err)
	}
	if err := json.Unmarshal(r.Base, &p.Base); err != nil {
		return p, fmt.Errorf("decode the versions of pending write %d: %w", r.ID, err)
	}
	return p, nil
}
