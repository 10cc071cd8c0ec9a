package store

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/store/dbsqlc"
)

// Tombstone returns the tombstone of an erasure.
func (s Erasures) Tombstone(ctx context.Context, id int64) (out erasure.Tombstone, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		r, err := q.EraseTombstone(ctx, id)
		if isNoRows(err) {
			return fault.Newf(fault.NotFound, "erasure %d not found", id)
		}
		if err != nil {
			return classify("read the erasure", err)
		}
		out = erasure.Tombstone{Token: r.Token, WorkspaceKey: r.WorkspaceKey, Derived: r.Derived,
			RequestedAt: r.RequestedAt.UTC()}
		if r.Conversation != nil && r.ConversationAt != nil {
			out.Conversation, out.ConversationAt = *r.Conversation, r.ConversationAt.UTC()
		}
		for _, hash := range r.Subject {
			out.Subject = append(out.Subject, hex.EncodeToString(hash))
		}
		return nil
	})
	return out, err
}

// Buried returns what a tombstone identifies in this database.
func (s Erasures) Buried(ctx context.Context, t erasure.Tombstone) (out erasure.Target, found bool, err error) {
	var known dbsqlc.EraseKnownRow
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		known, err = q.EraseKnown(ctx, dbsqlc.EraseKnownParams{Token: t.Token, WorkspaceKey: t.WorkspaceKey})
		return classify("look for the erasure", err)
	})
	if err != nil || known.Known || known.Workspace == 0 {
		return out, false, err
	}
	out = erasure.Target{Workspace: known.Workspace, Conversation: t.Conversation, Derived: t.Derived}
	if t.Conversation == 0 && len(t.Subject) == 0 {
		return out, true, nil
	}
	err = s.InWorkspace(ctx, known.Workspace, func(ctx context.Context, q Tx) (err error) {
		if t.Conversation != 0 {
			found, err = q.q.EraseConversationExists(ctx, dbsqlc.EraseConversationExistsParams{WorkspaceID: q.ws,
				ID: t.Conversation, CreatedAt: t.ConversationAt})
			return classify("look for the conversation", err)
		}
		out.Subject, err = q.subjectNamed(ctx, t)
		found = out.Subject != ""
		return err
	})
	return out, found, err
}

// subjectNamed returns the ID of the subject of a tombstone, empty if nothing in the workspace has it.
func (q session) subjectNamed(ctx context.Context, t erasure.Tombstone) (string, error) {
	ids, err := q.subjectIDs(ctx)
	if err != nil {
		return "", err
	}
	for _, id := range ids {
		target, err := memory.NewTarget(memory.Personal, id)
		if err != nil {
			continue // no erasure can be of it
		}
		for _, hash := range append(foldedHashes(t.WorkspaceKey, target), subjectHash(t.WorkspaceKey, target.Key)) {
			if slices.Contains(t.Subject, hex.EncodeToString(hash)) {
				return target.Key, nil
			}
		}
	}
	return "", nil
}

// RepeatErasure accepts the erasure of target again, under the token of the first one.
func (s Erasures) RepeatErasure(ctx context.Context, target erasure.Target, token uuid.UUID) (int64, error) {
	id, err := s.AcceptErasure(ctx, target)
	if err != nil {
		return 0, fmt.Errorf("repeat the erasure %s: %w", token, err)
	}
	return id, s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify("repeat the erasure", q.EraseRepeat(ctx, dbsqlc.EraseRepeatParams{ID: id, Token: token}))
	})
}
