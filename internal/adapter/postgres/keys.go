package postgres

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/fault"
)

// Key is an API key as it may be shown: of the key itself only the hint is left.
type Key struct {
	ID        int64      `json:"id"`
	Name      string     `json:"name"`
	Hint      string     `json:"hint"` // the first characters, to tell keys apart
	Scopes    []string   `json:"scopes"`
	CreatedAt time.Time  `json:"created_at"`
	RevokedAt *time.Time `json:"revoked_at,omitempty"`
}

// KeyHash is the SHA-256 of a key: all that is stored of it.
type KeyHash = [32]byte

// Principal is who a key speaks for.
type Principal struct {
	Workspace Workspace
	Key       int64
	Scopes    []string
}

// PutKey stores the hash of a new key; k's id and time are filled in.
func (q keyRepository) PutKey(ctx context.Context, k Key, hash KeyHash) (Key, error) {
	row, err := q.q.KeyInsert(ctx, dbsqlc.KeyInsertParams{WorkspaceID: q.ws, Name: storable(k.Name), Hash: hash[:], Hint: k.Hint, Scopes: texts(k.Scopes)})
	k.ID, k.CreatedAt = row.ID, row.CreatedAt
	return k, classify("store the key", err)
}

// Keys lists the keys of the workspace in the order of their making, revoked
// ones among them.
func (q keyRepository) Keys(ctx context.Context) ([]Key, error) {
	rows, err := q.q.KeysList(ctx, q.ws)
	if err != nil {
		return nil, classify("list the keys", err)
	}
	out := make([]Key, len(rows))
	for i, r := range rows {
		out[i] = Key(r)
	}
	return out, nil
}

// RevokeKey ends a key. One that is unknown, or has ended before, is NotFound.
func (q keyRepository) RevokeKey(ctx context.Context, id int64) error {
	n, err := q.q.KeyRevoke(ctx, dbsqlc.KeyRevokeParams{WorkspaceID: q.ws, ID: id})
	if err == nil && n == 0 {
		return fault.New(fault.NotFound, fmt.Sprintf("there is no key %d that is still good", id), "`cairn keys list` shows them")
	}
	return classify("revoke the key", err)
}

// Principal finds who a key speaks for. An unknown or revoked key, or one of a
// workspace that is being erased, is NotFound.
func (s *Store) Principal(ctx context.Context, hash KeyHash) (Principal, error) {
	r, err := dbsqlc.New(s.app).KeyResolve(ctx, hash[:])
	if isNoRows(err) {
		return Principal{}, fault.New(fault.NotFound, "the key is not known", "`cairn keys create` makes one")
	}
	return Principal{Workspace: Workspace{ID: r.Workspace, Name: r.Name, Key: r.Key}, Key: r.KeyID, Scopes: r.Scopes}, classify("look the key up", err)
}
