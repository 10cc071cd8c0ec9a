package store

import (
	"context"
	"fmt"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/store/dbsqlc"
)

// ConsoleSessions returns the store of the sessions of the web console.
func (s *Store) ConsoleSessions() ConsoleSessions { return ConsoleSessions{s} }

// ConsoleSessions has the sessions of the web console.
type ConsoleSessions struct{ *Store }

// PutGrant adds a grant to a cookie, and deletes the sessions of the workspace that have ended.
func (s ConsoleSessions) PutGrant(ctx context.Context, cookie access.CookieHash, g access.Grant) error {
	return s.InWorkspace(ctx, g.Workspace.ID, func(ctx context.Context, q Tx) error {
		return putGrant(ctx, q, cookie, g)
	})
}

func putGrant(ctx context.Context, q Tx, cookie access.CookieHash, g access.Grant) error {
	if err := q.q.ConsoleSessionsEnded(ctx, q.ws); err != nil {
		return classify("delete the ended console sessions", err)
	}
	err := q.q.ConsoleSessionInsert(ctx, dbsqlc.ConsoleSessionInsertParams{WorkspaceID: q.ws, Hash: cookie[:],
		KeyID: orNil(g.Key), Account: storable(g.Account), Scopes: texts(g.Scopes)})
	if err != nil {
		return classify("store the console session", err)
	}
	object := "sign-in link"
	if g.Key != 0 {
		object = fmt.Sprintf("key %d", g.Key)
	}
	return q.transaction().Operations().Record(ctx, audit.ConsoleSignIn, object)
}

// MoveGrant moves a grant to another cookie.
func (s ConsoleSessions) MoveGrant(ctx context.Context, g access.Grant, cookie access.CookieHash) error {
	return s.InWorkspace(ctx, g.Workspace.ID, func(ctx context.Context, q Tx) error {
		return classify("move the console session", q.q.ConsoleSessionMove(ctx,
			dbsqlc.ConsoleSessionMoveParams{WorkspaceID: q.ws, ID: g.ID, Hash: cookie[:]}))
	})
}

// Grants returns the grants of a cookie.
func (s ConsoleSessions) Grants(ctx context.Context, cookie access.CookieHash) (out []access.Grant,
	err error) {
	err = s.asApp(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.ConsoleSessionResolve(ctx, cookie[:])
		for _, r := range rows {
			out = append(out, access.Grant{ID: r.ID, Key: r.KeyID, Account: r.Account, Scopes: r.Scopes,
				Idle: r.Idle, Workspace: access.Workspace{ID: r.Workspace, Name: r.Name, Key: r.Key}})
		}
		return classify("find the console session", err)
	})
	return out, err
}

// UseGrant records the time of a use.
func (s ConsoleSessions) UseGrant(ctx context.Context, g access.Grant) error {
	return s.InWorkspace(ctx, g.Workspace.ID, func(ctx context.Context, q Tx) error {
		return classify("record the use of the console session", q.q.ConsoleSessionUsed(ctx,
			dbsqlc.ConsoleSessionUsedParams{WorkspaceID: q.ws, ID: g.ID}))
	})
}

// Sessions lists the sessions of a workspace.
func (s ConsoleSessions) Sessions(ctx context.Context, ws int64) ([]access.ConsoleSession, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]access.ConsoleSession, error) {
		rows, err := q.q.ConsoleSessionsList(ctx, ws)
		out := make([]access.ConsoleSession, len(rows))
		for i, r := range rows {
			out[i] = access.ConsoleSession{ID: r.ID, Key: r.KeyID, Name: r.Name, Scopes: r.Scopes,
				CreatedAt: r.CreatedAt, UsedAt: r.UsedAt, EndsAt: r.EndsAt}
		}
		return out, classify("list the console sessions", err)
	})
}

// EndSession deletes a session.
func (s ConsoleSessions) EndSession(ctx context.Context, ws, id int64) error {
	return s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		n, err := q.q.ConsoleSessionDelete(ctx, dbsqlc.ConsoleSessionDeleteParams{WorkspaceID: ws, ID: id})
		if err == nil && n == 0 {
			return fault.New(fault.NotFound, fmt.Sprintf("console session %d not found", id),
				"list the sessions on the page Keys of the console")
		}
		if err != nil {
			return classify("end the console session", err)
		}
		return q.transaction().Operations().Record(ctx, audit.ConsoleSignOut, fmt.Sprintf("session %d", id))
	})
}

// PutCode stores the hash of a code.
func (s ConsoleSessions) PutCode(ctx context.Context, code access.CookieHash, g access.Grant) error {
	return s.InWorkspace(ctx, g.Workspace.ID, func(ctx context.Context, q Tx) error {
		return classify("store the code", q.q.ConsoleCodeInsert(ctx, dbsqlc.ConsoleCodeInsertParams{
			WorkspaceID: q.ws, Hash: code[:], Account: storable(g.Account), Scopes: texts(g.Scopes)}))
	})
}

// Redeem deletes a code and adds its grant to a cookie, in one transaction.
func (s ConsoleSessions) Redeem(ctx context.Context, code, cookie access.CookieHash) (g access.Grant,
	err error) {
	err = s.asApp(ctx, func(q *dbsqlc.Queries) error {
		r, err := q.ConsoleCodeResolve(ctx, code[:])
		if isNoRows(err) {
			return invalidCode()
		}
		g.Workspace = access.Workspace{ID: r.Workspace, Name: r.Name, Key: r.Key}
		return classify("find the code", err)
	})
	if err != nil {
		return g, err
	}
	err = s.InWorkspace(ctx, g.Workspace.ID, func(ctx context.Context, q Tx) error {
		r, err := q.q.ConsoleCodeDelete(ctx, dbsqlc.ConsoleCodeDeleteParams{WorkspaceID: q.ws, Hash: code[:]})
		if isNoRows(err) { // redeemed in the meantime
			return invalidCode()
		}
		if err != nil {
			return classify("redeem the code", err)
		}
		g.Account, g.Scopes = r.Account, r.Scopes
		return putGrant(g.Acting(ctx), q, cookie, g)
	})
	return g, err
}

func invalidCode() error {
	return fault.New(fault.NotFound, "the sign-in link is invalid, used or older than a minute",
		"make a new one with `cairn console`")
}
