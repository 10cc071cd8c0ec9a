package store

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/store/dbsqlc"
)

// PutKey stores the hash of a new key, and fills in k's ID and time.
func (q KeyRepository) PutKey(ctx context.Context, k access.Key, hash access.KeyHash) (access.Key, error) {
	row, err := q.q.KeyInsert(ctx, dbsqlc.KeyInsertParams{WorkspaceID: q.ws, Name: storable(k.Name), Hash: hash[:],
		Hint: k.Hint, Scopes: texts(k.Scopes), ExpiresAt: k.ExpiresAt})
	if err != nil {
		return k, classify("store the key", err)
	}
	k.ID, k.CreatedAt = row.ID, row.CreatedAt
	return k, q.transaction().Operations().Record(ctx, audit.KeyCreate, fmt.Sprintf("key %d", k.ID))
}

// RotateKey stores the hash of a key that replaces an active one, and returns it.
func (q KeyRepository) RotateKey(ctx context.Context, r access.KeyRotation) (access.Key, error) {
	row, err := q.q.KeyRotate(ctx, dbsqlc.KeyRotateParams{WorkspaceID: q.ws, ID: r.Old, Overlap: r.Overlap,
		Hash: r.Hash[:], Hint: r.Hint, ExpiresAt: r.ExpiresAt})
	if isNoRows(err) {
		return access.Key{}, noActiveKey(r.Old)
	}
	if err != nil {
		return access.Key{}, classify("rotate the key", err)
	}
	return access.Key{ID: row.ID, Name: row.Name, Hint: r.Hint, Scopes: row.Scopes, CreatedAt: row.CreatedAt,
			ExpiresAt: row.ExpiresAt},
		q.transaction().Operations().Record(ctx, audit.KeyRotate, fmt.Sprintf("key %d, replaced by key %d", r.Old,
			row.ID))
}

func noActiveKey(id int64) error {
	return fault.New(fault.NotFound, fmt.Sprintf("active key %d not found", id),
		"list the keys with `cairn keys list`")
}

// Keys lists the keys of the workspace in order of creation, including revoked ones.
func (q KeyRepository) Keys(ctx context.Context) ([]access.Key, error) {
	rows, err := q.q.KeysList(ctx, q.ws)
	if err != nil {
		return nil, classify("list the keys", err)
	}
	out := make([]access.Key, len(rows))
	for i, r := range rows {
		out[i] = access.Key{ID: r.ID, Name: r.Name, Hint: r.Hint, Scopes: r.Scopes, CreatedAt: r.CreatedAt,
			ExpiresAt: r.ExpiresAt, UsedAt: r.UsedAt, RevokedAt: r.RevokedAt}
	}
	return out, nil
}

// RevokeKey revokes a key. An unknown or already revoked key is NotFound.
func (q KeyRepository) RevokeKey(ctx context.Context, id int64) error {
	n, err := q.q.KeyRevoke(ctx, dbsqlc.KeyRevokeParams{WorkspaceID: q.ws, ID: id})
	if err == nil && n == 0 {
		return noActiveKey(id)
	}
	if err != nil {
		return classify("revoke the key", err)
	}
	return q.transaction().Operations().Record(ctx, audit.KeyRevoke, fmt.Sprintf("key %d", id))
}

// principal returns the principal of a key. An unknown, revoked or expired key, or a key of a
// workspace that is being erased, is NotFound.
func (s *Store) principal(ctx context.Context, hash access.KeyHash) (access.Principal, access.KeyUsage, error) {
	var r dbsqlc.KeyResolveRow
	err := s.asApp(ctx, func(q *dbsqlc.Queries) (err error) {
		r, err = q.KeyResolve(ctx, hash[:])
		return err
	})
	if isNoRows(err) {
		return access.Principal{}, access.KeyUsage{}, fault.New(fault.NotFound, "invalid API key",
			"create a key with `cairn keys create`")
	}
	return access.Principal{Workspace: access.Workspace{ID: r.Workspace, Name: r.Name, Key: r.Key}, Key: r.KeyID,
		Scopes: r.Scopes}, usageOf(r.Seconds, r.Idle), classify("find the key", err)
}

// usageOf converts the seconds until a key expires, 0 if it never does.
func usageOf(seconds float64, idle bool) access.KeyUsage {
	const most = 365 * 24 * 3600 // longer than any cache, and short enough for a duration
	return access.KeyUsage{Left: time.Duration(min(seconds, most) * float64(time.Second)), Idle: idle}
}

// OperatorKeys returns the store of operator keys.
func (s *Store) OperatorKeys() OperatorKeys { return OperatorKeys{s} }

// OperatorKeys has the keys of operators and gateways.
type OperatorKeys struct{ *Store }

// PutOperatorKey stores the hash of a new key, and fills in k's ID and time.
func (s OperatorKeys) PutOperatorKey(ctx context.Context, k access.Key, hash access.KeyHash) (access.Key, error) {
	err := s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		row, err := q.OperatorKeyInsert(ctx, dbsqlc.OperatorKeyInsertParams{Name: storable(k.Name), Hash: hash[:],
			Hint: k.Hint, Scopes: texts(k.Scopes), ExpiresAt: k.ExpiresAt})
		if err != nil {
			return classify("store the operator key", err)
		}
		k.ID, k.CreatedAt = row.ID, row.CreatedAt
		return recordAct(ctx, q, nil, audit.KeyCreate, fmt.Sprintf("operator key %d", k.ID))
	})
	return k, err
}

// OperatorKeys lists the keys in order of creation, including revoked ones.
func (s OperatorKeys) OperatorKeys(ctx context.Context) (out []access.Key, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.OperatorKeysList(ctx)
		for _, r := range rows {
			out = append(out, access.Key(r))
		}
		return classify("list the operator keys", err)
	})
	return out, err
}

// RevokeOperatorKey revokes a key. An unknown or already revoked key is NotFound.
func (s OperatorKeys) RevokeOperatorKey(ctx context.Context, id int64) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		n, err := q.OperatorKeyRevoke(ctx, id)
		if err == nil && n == 0 {
			return fault.New(fault.NotFound, fmt.Sprintf("active operator key %d not found", id),
				"list the keys with `cairn keys list --operator`")
		}
		if err != nil {
			return classify("revoke the operator key", err)
		}
		return recordAct(ctx, q, nil, audit.KeyRevoke, fmt.Sprintf("operator key %d", id))
	})
}

// Operator returns the holder of a key. An unknown, revoked or expired key is NotFound.
func (s OperatorKeys) Operator(ctx context.Context, hash access.KeyHash) (o access.Operator, u access.KeyUsage,
	err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		r, err := q.OperatorKeyResolve(ctx, hash[:])
		if isNoRows(err) {
			return fault.New(fault.NotFound, "invalid operator key",
				"create a key with `cairn keys create --operator`")
		}
		o, u = access.Operator{Key: r.KeyID, Scopes: r.Scopes}, usageOf(r.Seconds, r.Idle)
		return classify("find the operator key", err)
	})
	return o, u, err
}

// UseOperatorKey records the use of a key.
func (s OperatorKeys) UseOperatorKey(ctx context.Context, id int64) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify("record the use of the operator key", q.OperatorKeyUsed(ctx, id))
	})
}

// PutGatewayKey stores the hash of a new key with its account, and fills in k's ID and time.
func (s OperatorKeys) PutGatewayKey(ctx context.Context, k access.Key, hash access.KeyHash) (access.Key, error) {
	err := s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		if err := q.AccountAdd(ctx, dbsqlc.AccountAddParams{Name: k.Account, Platform: "api"}); err != nil {
			return classify("store the account", err)
		}
		row, err := q.OperatorKeyInsert(ctx, dbsqlc.OperatorKeyInsertParams{Name: storable(k.Name), Hash: hash[:],
			Hint: k.Hint, Scopes: texts(k.Scopes), Account: &k.Account, ExpiresAt: k.ExpiresAt})
		if err != nil {
			return classify("store the key of the gateway", err)
		}
		k.ID, k.CreatedAt = row.ID, row.CreatedAt
		return recordAct(ctx, q, nil, audit.KeyCreate, fmt.Sprintf("operator key %d", k.ID))
	})
	return k, err
}

// GatewayHolder returns the holder of a key and the user with an ID.
func (s OperatorKeys) GatewayHolder(ctx context.Context, hash access.KeyHash, person string) (h access.GatewayHolder,
	u access.KeyUsage, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		r, err := q.GatewayKeyResolve(ctx, dbsqlc.GatewayKeyResolveParams{Hash: hash[:], Person: storable(person)})
		if isNoRows(err) {
			return fault.New(fault.NotFound, "invalid key of a gateway",
				"create a key with `cairn keys create --gateway ACCOUNT --name NAME`")
		}
		h = access.GatewayHolder{Key: r.KeyID, Account: r.Account, Blocked: r.Role == "blocked",
			Workspace: access.Workspace{ID: r.Workspace, Name: r.Name, Key: r.Key}}
		u = usageOf(r.Seconds, r.Idle)
		return classify("find the key of the gateway", err)
	})
	return h, u, err
}

// Keys returns the store of API keys.
func (s *Store) Keys() Keys { return Keys{s} }

// Keys has what the service of API keys does in transactions of its own.
type Keys struct{ *Store }

// PutKey stores the hash of a new key, and fills in its ID and time.
func (s Keys) PutKey(ctx context.Context, ws int64, k access.Key, hash access.KeyHash) (access.Key, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) (access.Key, error) {
		return q.Keys().PutKey(ctx, k, hash)
	})
}

// Keys lists the keys of a workspace.
func (s Keys) Keys(ctx context.Context, ws int64) ([]access.Key, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]access.Key, error) {
		return q.Keys().Keys(ctx)
	})
}

// RevokeKey ends a key.
func (s Keys) RevokeKey(ctx context.Context, ws, id int64) error {
	return s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error { return q.Keys().RevokeKey(ctx, id) })
}

// RotateKey replaces a key by a new one.
func (s Keys) RotateKey(ctx context.Context, ws int64, r access.KeyRotation) (access.Key, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) (access.Key, error) {
		return q.Keys().RotateKey(ctx, r)
	})
}

// UseKey records that a key was used.
func (s Keys) UseKey(ctx context.Context, ws, id int64) error {
	return s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		return classify("record the use of the key", q.q.KeyUsed(ctx, dbsqlc.KeyUsedParams{WorkspaceID: ws, ID: id}))
	})
}

// Principal finds who a key belongs to.
func (s Keys) Principal(ctx context.Context, hash access.KeyHash) (access.Principal, access.KeyUsage, error) {
	return s.principal(ctx, hash)
}
