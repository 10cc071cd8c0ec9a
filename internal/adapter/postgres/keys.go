package postgres

import (
	"context"
	"fmt"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/tenancy"
	"cairn/internal/service/apikey"
)

// PutKey stores the hash of a new key; k's id and time are filled in.
func (q keyRepository) PutKey(ctx context.Context, k apikey.Key, hash apikey.Hash) (apikey.Key, error) {
	row, err := q.q.KeyInsert(ctx, dbsqlc.KeyInsertParams{WorkspaceID: q.ws, Name: storable(k.Name), Hash: hash[:],
		Hint: k.Hint, Scopes: texts(k.Scopes)})
	k.ID, k.CreatedAt = row.ID, row.CreatedAt
	return k, classify("store the key", err)
}

// Keys lists the keys of the workspace in the order of their making, revoked
// ones among them.
func (q keyRepository) Keys(ctx context.Context) ([]apikey.Key, error) {
	rows, err := q.q.KeysList(ctx, q.ws)
	if err != nil {
		return nil, classify("list the keys", err)
	}
	out := make([]apikey.Key, len(rows))
	for i, r := range rows {
		out[i] = apikey.Key(r)
	}
	return out, nil
}

// RevokeKey ends a key. One that is unknown, or has ended before, is NotFound.
func (q keyRepository) RevokeKey(ctx context.Context, id int64) error {
	n, err := q.q.KeyRevoke(ctx, dbsqlc.KeyRevokeParams{WorkspaceID: q.ws, ID: id})
	if err == nil && n == 0 {
		return fault.New(fault.NotFound, fmt.Sprintf("there is no key %d that is still good", id),
			"`cairn keys list` shows them")
	}
	return classify("revoke the key", err)
}

// principal finds who a key speaks for. An unknown or revoked key, or one of a
// workspace that is being erased, is NotFound.
func (s *Store) principal(ctx context.Context, hash apikey.Hash) (apikey.Principal, error) {
	r, err := dbsqlc.New(s.app).KeyResolve(ctx, hash[:])
	if isNoRows(err) {
		return apikey.Principal{}, fault.New(fault.NotFound, "the key is not known", "`cairn keys create` makes one")
	}
	return apikey.Principal{Workspace: tenancy.Workspace{ID: r.Workspace, Name: r.Name, Key: r.Key}, Key: r.KeyID,
		Scopes: r.Scopes}, classify("look the key up", err)
}
