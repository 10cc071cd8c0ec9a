package store

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/outbox"
	"cairn/internal/store/dbsqlc"
)

// Support returns the store of the console of operators.
func (s *Store) Support() Support { return Support{s} }

// Support has the sessions of operators, and what they see of workspaces.
type Support struct{ *Store }

// PutOperatorSession stores the hash of a cookie, and deletes the sessions that have ended.
func (s Support) PutOperatorSession(ctx context.Context, cookie access.SupportHash, key int64) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		if err := q.OperatorSessionsEnded(ctx); err != nil {
			return classify("delete the ended operator sessions", err)
		}
		err := q.OperatorSessionInsert(ctx, dbsqlc.OperatorSessionInsertParams{Hash: cookie[:], KeyID: key})
		if err != nil {
			return classify("store the operator session", err)
		}
		return recordAct(ctx, q, nil, audit.ConsoleSignIn, fmt.Sprintf("operator key %d", key))
	})
}

// OperatorSession returns the operator of a cookie.
func (s Support) OperatorSession(ctx context.Context, cookie access.SupportHash) (out access.SupportSession,
	err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		r, err := q.OperatorSession(ctx, cookie[:])
		if isNoRows(err) {
			return fault.New(fault.NotFound, "the operator session has ended", "sign in with an operator key")
		}
		out = access.SupportSession{Operator: access.Operator{Key: r.KeyID, Scopes: r.Scopes}, Idle: r.Idle}
		return classify("find the operator session", err)
	})
	return out, err
}

// UseOperatorSession records the time of a use.
func (s Support) UseOperatorSession(ctx context.Context, cookie access.SupportHash) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify("record the use of the operator session", q.OperatorSessionUsed(ctx, cookie[:]))
	})
}

// EndOperatorSession deletes a session.
func (s Support) EndOperatorSession(ctx context.Context, cookie access.SupportHash) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify("end the operator session", q.OperatorSessionDelete(ctx, cookie[:]))
	})
}

// SupportWorkspaces lists workspaces with what they hold.
func (s Support) SupportWorkspaces(ctx context.Context, after, only int64, max int) (out []access.WorkspaceSummary,
	err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.SupportWorkspaces(ctx, dbsqlc.SupportWorkspacesParams{AfterID: after, OnlyID: only,
			MaxRows: int32(max), StuckFailures: outbox.StuckFailures, StuckAge: outbox.StuckAge})
		for _, r := range rows {
			w := access.WorkspaceSummary{ID: r.ID, Key: r.Key, State: r.State, CreatedAt: r.CreatedAt,
				Conversations: r.Conversations, Memories: r.Memories, Skills: r.Skills, OpenRuns: r.OpenRuns,
				FailedRuns: r.FailedRuns, Waiting: r.Waiting, Stuck: r.Stuck, Calls: r.Calls,
				FailedCalls: r.FailedCalls, Tokens: r.Tokens, Micros: r.Micros, Unpriced: r.Unpriced}
			if r.LastTurnAt.After(time.Unix(0, 0)) {
				w.LastTurn = r.LastTurnAt
			}
			out = append(out, w)
		}
		return classify("count the workspaces", err)
	})
	return out, err
}

// SupportErrors counts what a workspace did by codes.
func (s Support) SupportErrors(ctx context.Context, ws int64) (out []access.WorkspaceCount, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.SupportErrors(ctx, ws)
		for _, r := range rows {
			out = append(out, access.WorkspaceCount{What: r.What, Kind: r.Kind, Code: r.Code, N: r.N, Latest: r.Latest})
		}
		return classify("count the errors", err)
	})
	return out, err
}
