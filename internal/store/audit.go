package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/settings"
	"cairn/internal/store/dbsqlc"
)

// Record records an act of the context's actor in this transaction.
func (q OperationRepository) Record(ctx context.Context, action audit.Action, object string) error {
	return recordAct(ctx, q.q, &q.ws, action, object)
}

// recordAct records an act of the context's actor. Without a workspace, it is the act of an operator.
func recordAct(ctx context.Context, q *dbsqlc.Queries, ws *int64, action audit.Action, object string) error {
	by := audit.From(ctx)
	return classify("record the act", q.AuditInsert(ctx, dbsqlc.AuditInsertParams{WorkspaceID: ws,
		Action: string(action), Object: storable(object), Actor: string(by.Kind), KeyID: orNil(by.KeyID),
		Account: storable(by.Account), Request: storable(by.Request), Address: storable(by.Address)}))
}

// recordErasure records an accepted erasure, once, by its numbers: what it erases has no name here. The
// erasure of a workspace is the act of an operator, because the workspace's events are erased with it.
func recordErasure(ctx context.Context, q *dbsqlc.Queries, t erasure.Target, id int64) error {
	ws, action, object := &t.Workspace, audit.EraseTarget, fmt.Sprintf("erasure %d", id)
	switch {
	case t.Conversation != 0:
		action, object = audit.EraseConversation, fmt.Sprintf("%s of conversation %d", object, t.Conversation)
	case t.Subject == "":
		ws, action, object = nil, audit.EraseWorkspace, fmt.Sprintf("%s of workspace %d", object, t.Workspace)
	}
	// The transaction that accepts an erasure holds the lock of its workspace.
	if has, err := q.AuditHas(ctx, dbsqlc.AuditHasParams{WorkspaceID: ws, Action: string(action),
		Object: object}); err != nil || has {
		return classify("look for the recorded erasure", err)
	}
	return recordAct(ctx, q, ws, action, object)
}

// recordPatch records the names of the patched settings, unless the patch changes nothing.
func (q WorkspaceRepository) recordPatch(ctx context.Context, was, now settings.Settings,
	patch json.RawMessage) error {
	if reflect.DeepEqual(was, now) {
		return nil
	}
	var names map[string]json.RawMessage
	if err := json.Unmarshal(patch, &names); err != nil {
		return fmt.Errorf("decode the patch: %w", err)
	}
	return q.transaction().Operations().Record(ctx, audit.SettingsChange, strings.Join(slices.Sorted(maps.Keys(names)),
		", "))
}

// AuditLog reads and writes audit events.
type AuditLog struct{ *Store }

// Audit returns the audit log.
func (s *Store) Audit() AuditLog { return AuditLog{s} }

// AuditEvents lists events of a workspace, or of operators if it is 0, the latest first.
func (s AuditLog) AuditEvents(ctx context.Context, ws int64, f audit.Filter, most int) (out []audit.Event,
	err error) {
	wanted := dbsqlc.AuditOfOperatorsParams{Cursor: f.Cursor, Action: string(f.Action), Since: timeOrNil(f.Since),
		Until: timeOrNil(f.Until), Most: int32(most)}
	if ws == 0 {
		err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
			rows, err := q.AuditOfOperators(ctx, wanted)
			for _, r := range rows {
				out = append(out, eventOf(dbsqlc.AuditOfWorkspaceRow(r)))
			}
			return classify("list the events of operators", err)
		})
		return out, err
	}
	err = s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		rows, err := q.q.AuditOfWorkspace(ctx, dbsqlc.AuditOfWorkspaceParams{WorkspaceID: &ws, Cursor: wanted.Cursor,
			Action: wanted.Action, Since: wanted.Since, Until: wanted.Until, Most: wanted.Most})
		for _, r := range rows {
			out = append(out, eventOf(r))
		}
		return classify("list the audit events", err)
	})
	return out, err
}

func eventOf(r dbsqlc.AuditOfWorkspaceRow) audit.Event {
	e := audit.Event{ID: r.ID, At: r.At, Action: audit.Action(r.Action), Object: r.Object,
		Actor:   audit.Author{Kind: audit.Kind(r.Actor), Name: r.Name},
		Request: r.Request, Address: r.Address}
	if r.KeyID != nil {
		e.Actor.KeyID = *r.KeyID
	}
	return e
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// RecordAct records an act in a workspace.
func (s AuditLog) RecordAct(ctx context.Context, ws int64, action audit.Action, object string) error {
	return s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		return q.transaction().Operations().Record(ctx, action, object)
	})
}

// RecordOperator records an act of an operator.
func (s AuditLog) RecordOperator(ctx context.Context, action audit.Action, object string) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error { return recordAct(ctx, q, nil, action, object) })
}
