package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/outbox"
	"cairn/internal/store/dbsqlc"
)

// Erasures implements the store of the service erase.
type Erasures struct{ *Store }

// Erasures returns the store of the service erase.
func (s *Store) Erasures() Erasures { return Erasures{s} }

// AcceptErasure creates an erasure, or finds the open one.
func (s Erasures) AcceptErasure(ctx context.Context, t erasure.Target) (id int64, err error) {
	if t.Subject != "" {
		return s.acceptSubject(ctx, t, nil)
	}
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		id, err = q.EraseAccept(ctx, dbsqlc.EraseAcceptParams{Workspace: t.Workspace,
			Conversation: orNil(t.Conversation), Derived: t.Derived})
		if err != nil {
			return classify("accept the erase", err)
		}
		return recordErasure(ctx, q, t, id)
	})
	if t.Conversation == 0 {
		s.forget(t.Workspace)
	}
	return id, err
}

// Erasure reads the progress of an erasure.
func (s Erasures) Erasure(ctx context.Context, id int64) (out erasure.Erasure, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		r, err := q.EraseGet(ctx, id)
		if isNoRows(err) {
			return fault.Newf(fault.NotFound, "erasure %d not found", id)
		}
		if err != nil {
			return classify("read the erasure", err)
		}
		if out, err = erasureOf(r); err != nil {
			return err
		}
		_, out.NeedsReview, err = listed(ctx, q, id)
		return err
	})
	return out, err
}

func erasureOf(r dbsqlc.EraseGetRow) (erasure.Erasure, error) {
	e := erasure.Erasure{ID: r.ID, Workspace: r.Workspace, WorkspaceKey: r.WorkspaceKey, Derived: r.Derived,
		Ended: r.State == "ended", Workflows: len(r.Workflows), RequestedAt: r.RequestedAt, EndedAt: r.EndedAt}
	if r.Conversation != nil {
		e.Conversation = *r.Conversation
	}
	if len(r.Subject) > 0 {
		e.Subject = hex.EncodeToString(r.Subject[0])
	}
	for _, count := range []struct {
		from *int32
		to   *int
	}{{r.Objects, &e.Objects}, {r.ObjectsLeft, &e.ObjectsLeft}, {r.WorkflowsLeft, &e.WorkflowsLeft}} {
		if count.from != nil {
			*count.to = int(*count.from)
		}
	}
	affected := map[string]int64{}
	for _, counts := range []struct {
		from json.RawMessage
		to   *map[string]int64
	}{{r.Deleted, &e.Deleted}, {r.Remaining, &e.Remaining}, {r.Affected, &affected}} {
		if err := json.Unmarshal(counts.from, counts.to); err != nil {
			return e, fmt.Errorf("decode erasure %d: %w", r.ID, err)
		}
	}
	e.Skills, e.Memories = affected["skills"], affected["memories"]
	return e, nil
}

// FenceErasure waits until all transactions that entered the workspace before the erasure have
// ended.
func (s Erasures) FenceErasure(ctx context.Context, id int64) error {
	err := s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify("wait for open transactions", q.EraseEnter(ctx, id))
	})
	if err != nil {
		return err
	}
	_, err = s.eraseRequests(ctx, id)
	return err
}

// ErasedTables lists the tables with rows of workspaces. A table precedes those that it refers to.
func (s Erasures) ErasedTables(ctx context.Context) (out []string, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.EraseTables(ctx)
		for _, r := range rows {
			out = append(out, r.Tbl)
		}
		return classify("list the tables", err)
	})
	return out, err
}

// EraseRows deletes up to most rows of a table and returns their number.
func (s Erasures) EraseRows(ctx context.Context, id int64, table string, most int) (n int, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		deleted, err := q.EraseRows(ctx, dbsqlc.EraseRowsParams{ID: id, Tbl: table, Most: int32(most)})
		n = int(deleted)
		return classify("delete rows", err)
	})
	return n, err
}

// EraseDerived applies the chosen treatment to the data derived from a conversation.
func (s Erasures) EraseDerived(ctx context.Context, id int64) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify("treat the derived data of the conversation", q.EraseDerived(ctx, id))
	})
}

// EraseConversation deletes the conversation's own row. It does nothing for a workspace.
func (s Erasures) EraseConversation(ctx context.Context, id int64) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify("delete the conversation", q.EraseConversation(ctx, id))
	})
}

// ErasedPackages lists packages to delete, in the order of their hashes.
func (s Erasures) ErasedPackages(ctx context.Context, id int64, after [32]byte, most int) (out []erasure.Package,
	err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.ErasePackages(ctx, dbsqlc.ErasePackagesParams{ID: id, After: after[:], Most: int32(most)})
		for _, r := range rows {
			out = append(out, erasure.Package{SHA: [32]byte(r.Sha256), Key: r.Key})
		}
		return classify("list the packages", err)
	})
	return out, err
}

// ErasePackages deletes the rows of packages whose objects are deleted.
func (s Erasures) ErasePackages(ctx context.Context, id int64, gone []erasure.Package) error {
	if len(gone) == 0 {
		return nil
	}
	sums := make([][]byte, len(gone))
	for i, p := range gone {
		sums[i] = p.SHA[:]
	}
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify("delete the packages",
			q.ErasePackageRows(ctx, dbsqlc.ErasePackageRowsParams{ID: id, Gone: sums}))
	})
}

// NoteErasure stores the counts of external data.
func (s Erasures) NoteErasure(ctx context.Context, id int64, seen erasure.ExternalCounts) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify("store the external counts",
			q.EraseNote(ctx, dbsqlc.EraseNoteParams{ID: id, Objects: int32Of(seen.Objects),
				ObjectsLeft: int32Of(seen.ObjectsLeft),
				Stopped:     texts(seen.Stopped), WorkflowsLeft: int32Of(seen.WorkflowsLeft)}))
	})
}

func int32Of(n *int) *int32 {
	if n == nil {
		return nil
	}
	m := int32(*n)
	return &m
}

// EndErasure counts the remaining rows, and ends the erasure if none remain.
func (s Erasures) EndErasure(ctx context.Context, id int64) (ended bool, err error) {
	if open, err := s.eraseRequests(ctx, id); err != nil || open > 0 {
		return false, err
	}
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		ended, err = q.EraseEnd(ctx, id)
		return classify("count the remaining rows", err)
	})
	return ended, err
}

// PlanErasure counts the rows that an erasure would delete.
func (s Erasures) PlanErasure(ctx context.Context, t erasure.Target) (out erasure.Plan, err error) {
	if t.Subject != "" {
		return s.planSubject(ctx, t)
	}
	out.Rows = map[string]int64{}
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.EraseRowsOf(ctx, dbsqlc.EraseRowsOfParams{Workspace: t.Workspace,
			Conversation: orNil(t.Conversation)})
		for _, r := range rows {
			out.Rows[r.Tbl] = r.N
		}
		return classify("count the rows", err)
	})
	if err != nil || t.Conversation == 0 {
		return out, err
	}
	err = s.InWorkspace(ctx, t.Workspace, func(ctx context.Context, q Tx) error {
		rows, err := q.q.DerivedOf(ctx, dbsqlc.DerivedOfParams{WorkspaceID: q.ws, Conversation: t.Conversation})
		for _, r := range rows {
			out.Derived = append(out.Derived, erasure.Derivation(r))
		}
		return classify("list the derived data of the conversation", err)
	})
	return out, err
}

// OpenErasures lists erasures that have not ended.
func (s *Store) OpenErasures(ctx context.Context, max int) (out []outbox.OpenErasure, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.ErasuresOpen(ctx, int32(max))
		for _, r := range rows {
			e := outbox.OpenErasure{ID: r.ID, Workspace: r.Workspace, WorkspaceKey: r.WorkspaceKey,
				Subject: r.OfSubject}
			if r.Conversation != nil {
				e.Conversation = *r.Conversation
			}
			out = append(out, e)
		}
		return classify("list the erasures", err)
	})
	return out, err
}
