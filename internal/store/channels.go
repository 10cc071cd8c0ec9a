package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"cairn/internal/domain/access"
	"cairn/internal/domain/channel"
	"cairn/internal/store/dbsqlc"
)

// Channels has the accounts, people, events and deliveries of chat platforms.
type Channels struct{ *Store }

// Channels returns the store of chat platforms.
func (s *Store) Channels() Channels { return Channels{s} }

// PutAccount stores an account of the configuration.
func (s Channels) PutAccount(ctx context.Context, name, platform string, p channel.Profile) error {
	profile, err := encode("the profile of the account", p)
	if err != nil {
		return err
	}
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify("store the account",
			q.AccountPut(ctx, dbsqlc.AccountPutParams{Name: name, Platform: platform, Profile: profile}))
	})
}

// Profile returns how the messages of an account are answered.
func (s Channels) Profile(ctx context.Context, name string) (out channel.Profile, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		raw, err := q.AccountProfile(ctx, name)
		if err != nil {
			return classify("read the profile of the account", err)
		}
		if err := json.Unmarshal(raw, &out); err != nil {
			return fmt.Errorf("decode the profile of account %s: %w", name, err)
		}
		return nil
	})
	return out, err
}

// Lease takes an account, or extends the lease.
func (s Channels) Lease(ctx context.Context, name string, holder uuid.UUID, lease time.Duration) (cursor string,
	held bool, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		cursors, err := q.AccountLease(
			ctx,
			dbsqlc.AccountLeaseParams{Name: name, Holder: pgtype.UUID{Bytes: holder, Valid: true}, Lease: lease},
		)
		if held = len(cursors) > 0; held {
			cursor = cursors[0]
		}
		return classify("take the account", err)
	})
	return cursor, held, err
}

// Release gives an account to another process.
func (s Channels) Release(ctx context.Context, name string, holder uuid.UUID) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify(
			"release the account",
			q.AccountRelease(
				ctx,
				dbsqlc.AccountReleaseParams{Name: name, Holder: pgtype.UUID{Bytes: holder, Valid: true}},
			),
		)
	})
}

// SaveCursor stores the place after the last stored event.
func (s Channels) SaveCursor(ctx context.Context, name string, holder uuid.UUID, cursor string) (held bool,
	err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		n, err := q.AccountCursor(
			ctx,
			dbsqlc.AccountCursorParams{Cursor: cursor, Name: name, Holder: pgtype.UUID{Bytes: holder, Valid: true}},
		)
		held = n == 1
		return classify("store the cursor of the account", err)
	})
	return held, err
}

// Find returns the workspace and the role of a user or group.
func (s Channels) Find(ctx context.Context, account, kind, user string) (ws access.Workspace, role string,
	found bool, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		r, err := q.IdentityFind(ctx, dbsqlc.IdentityFindParams{Account: account, Kind: kind, UserID: storable(user)})
		if isNoRows(err) {
			return nil
		}
		if found, role = err == nil, r.Role; r.State != "active" { // it is being erased
			role = channel.RoleBlocked
		}
		ws = access.Workspace{ID: r.WorkspaceID, Name: r.ExternalID, Key: r.Key}
		return classify("find the user", err)
	})
	return ws, role, found, err
}

// First reports whether an account has no user yet.
func (s Channels) First(ctx context.Context, account string) (first bool, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		first, err = q.IdentityFirst(ctx, account)
		return classify("find the first user of the account", err)
	})
	return first, err
}

// PutIdentity stores a new identity.
func (s Channels) PutIdentity(ctx context.Context, ws int64, i channel.Identity) (made bool, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		n, err := q.q.IdentityPut(ctx, dbsqlc.IdentityPutParams{Account: i.Account, Kind: i.Kind,
			UserID: storable(i.User), WorkspaceID: q.ws, Name: storable(i.Name), Role: i.Role})
		made = n == 1
		return classify("store the user", err)
	})
	return made, err
}

// SetRole changes what a user may do.
func (s Channels) SetRole(ctx context.Context, ws int64, account, kind, user, role string) (found bool,
	err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		n, err := q.q.IdentityRole(ctx, dbsqlc.IdentityRoleParams{Role: role, WorkspaceID: q.ws, Account: account,
			Kind: kind, UserID: storable(user)})
		found = n == 1
		return classify("store the role of the user", err)
	})
	return found, err
}

// Identities lists the users of all accounts.
func (s Channels) Identities(ctx context.Context) (out []channel.Identity, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.IdentitiesList(ctx)
		for _, r := range rows {
			out = append(
				out,
				channel.Identity{Account: r.Account, Kind: r.Kind, User: r.UserID, Name: r.Name, Role: r.Role,
					Workspace: r.Workspace, CreatedAt: r.CreatedAt},
			)
		}
		return classify("list the users", err)
	})
	return out, err
}

// IdentitiesOf lists the users of a workspace.
func (s Channels) IdentitiesOf(ctx context.Context, ws int64, max int) ([]channel.Identity, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]channel.Identity, error) {
		rows, err := q.q.IdentitiesOf(ctx, dbsqlc.IdentitiesOfParams{WorkspaceID: ws, MaxRows: int32(max)})
		out := make([]channel.Identity, len(rows))
		for i, r := range rows {
			out[i] = channel.Identity{Account: r.Account, Kind: r.Kind, User: r.UserID, Name: r.Name, Role: r.Role,
				CreatedAt: r.CreatedAt}
		}
		return out, classify("list the users of the workspace", err)
	})
}

// PutPairing stores a code for a user.
func (s Channels) PutPairing(ctx context.Context, p channel.Pairing, most int) (tell bool, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		_, err := q.PairingPut(ctx, dbsqlc.PairingPutParams{Account: p.Account, UserID: storable(p.User),
			Name: storable(p.Name), Code: p.Code, Most: int32(most)})
		if isNoRows(err) {
			return nil
		}
		tell = err == nil
		return classify("store the pairing code", err)
	})
	return tell, err
}

// Pairings lists the codes that are valid.
func (s Channels) Pairings(ctx context.Context) (out []channel.Pairing, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.PairingsList(ctx)
		for _, r := range rows {
			out = append(out, channel.Pairing{Account: r.Account, User: r.UserID, Name: r.Name, Code: r.Code,
				ExpiresAt: r.ExpiresAt})
		}
		return classify("list the pairing codes", err)
	})
	return out, err
}

// DeletePairing deletes the code of a user.
func (s Channels) DeletePairing(ctx context.Context, account, user string) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify("delete the pairing code",
			q.PairingDelete(ctx, dbsqlc.PairingDeleteParams{Account: account, UserID: storable(user)}))
	})
}

// PutLink stores the code with which a known user links another platform.
func (s Channels) PutLink(ctx context.Context, p channel.Pairing) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		return classify("store the code", q.LinkPut(ctx, dbsqlc.LinkPutParams{Account: p.Account,
			UserID: storable(p.User), Name: storable(p.Name), Code: p.Code}))
	})
}

// ClaimLink returns the user of a code for the first user who sends it.
func (s Channels) ClaimLink(ctx context.Context, code, by string) (account, user string, found bool, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		r, err := q.LinkClaim(ctx, dbsqlc.LinkClaimParams{UsedBy: storable(by), Code: storable(code)})
		if isNoRows(err) {
			return nil
		}
		account, user, found = r.Account, r.UserID, err == nil
		return classify("find the code", err)
	})
	return account, user, found, err
}

// Move makes another workspace that of a user.
func (s Channels) Move(ctx context.Context, account, user string, ws int64) error {
	return s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		n, err := q.IdentityMove(ctx,
			dbsqlc.IdentityMoveParams{WorkspaceID: ws, Account: account, UserID: storable(user)})
		return someRows("move the user to another workspace", n, 1, err)
	})
}

// Remembers reports whether a workspace has memories.
func (s Channels) Remembers(ctx context.Context, ws int64) (yes bool, err error) {
	err = s.within(ctx, byKeys, ws, func(ctx context.Context, q Tx) error {
		yes, err = q.q.WorkspaceRemembers(ctx, q.ws)
		return classify("look for memories", err)
	})
	return yes, err
}

// channelsAtOnce is the maximum number of rows in one deletion of handled events and sent deliveries.
const channelsAtOnce = 1000

// purgeChannels deletes a part of the expired events, deliveries and codes of all workspaces.
func (s *Store) purgeChannels(ctx context.Context) (int, error) {
	var codes, events, sent int64
	err := s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		if codes, err = q.PairingsPurge(ctx); err != nil {
			return err
		}
		if events, err = q.EventsPurge(ctx, channelsAtOnce); err != nil {
			return err
		}
		sent, err = q.DeliveriesPurge(ctx, channelsAtOnce)
		return err
	})
	return int(codes + events + sent), classify("purge handled events and sent deliveries", err)
}
