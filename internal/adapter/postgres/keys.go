package postgres

import (
	"context"
	"fmt"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/tenancy"
	"cairn/internal/service/apikey"
)

// PutKey stores the hash of a new key, and fills in k's ID and time.
func (q keyRepository) PutKey(ctx context.Context, k apikey.Key, hash apikey.Hash) (apikey.Key, error) {
	row, err := q.q.KeyInsert(ctx, dbsqlc.KeyInsertParams{WorkspaceID: q.ws, Name: storable(k.Name), Hash: hash[:],
		Hint: k.Hint, Scopes: texts(k.Scopes)})
	k.ID, k.CreatedAt = row.ID, row.CreatedAt
	return k, classify("store the key", err)
}

// Keys lists the keys of the workspace in order of creation, including revoked ones.
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

// RevokeKey revokes a key. An unknown or already revoked key is NotFound.
func (q keyRepository) RevokeKey(ctx context.Context, id int64) error {
	n, err := q.q.KeyRevoke(ctx, dbsqlc.KeyRevokeParams{WorkspaceID: q.ws, ID: id})
	if err == nil && n == 0 {
		return fault.New(fault.NotFound, fmt.Sprintf("active key %d not found", id),
			"list the keys with `cairn keys list`")
	}
	return classify("revoke the key", err)
}

// principal returns the principal of a key. An unknown or revoked key, or a key of a workspace that
// is being erased, is NotFound.
func (s *Store) principal(ctx context.Context, hash apikey.Hash) (apikey.Principal, error) {
	var r dbsqlc.KeyResolveRow
	err := s.asApp(ctx, func(q *dbsqlc.Queries) (err error) {
		r, err = q.KeyResolve(ctx, hash[:])
		return err
	})
	if isNoRows(err) {
		return apikey.Principal{}, fault.New(fault.NotFound, "unknown API key", "create a key with `cairn keys create`")
	}
	return apikey.Principal{Workspace: tenancy.Workspace{ID: r.Workspace, Name: r.Name, Key: r.Key}, Key: r.KeyID,
		Scopes: r.Scopes}, classify("find the key", err)
}
