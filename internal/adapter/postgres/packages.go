package postgres

import (
	"context"
	"crypto/sha256"
	"time"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/service/relay"
)

// TouchPackage records that a zip is about to be uploaded, so that collection
// waits. It comes before the upload; the commit makes the package live.
func (q Queries) TouchPackage(ctx context.Context, sha [sha256.Size]byte, key string, bytes int) error {
	return classify("record the package", q.q.PackageTouch(ctx, dbsqlc.PackageTouchParams{WorkspaceID: q.ws, Sha256: sha[:], Key: key, Bytes: int32(bytes)}))
}

// IdlePackage is an upload that no version refers to.
type IdlePackage = relay.IdlePackage

// IdlePackages lists uploads that have not become live for grace.
func (s *Store) IdlePackages(ctx context.Context, grace time.Duration, max int) (out []IdlePackage, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.PackagesIdle(ctx, dbsqlc.PackagesIdleParams{Grace: grace, MaxRows: int32(max)})
		for _, r := range rows {
			out = append(out, IdlePackage{Workspace: r.WorkspaceID, SHA: [32]byte(r.Sha256)})
		}
		return err
	})
	return out, err
}

// Collect moves one idle package on: first it is condemned, so that no commit
// can make it live, and a grace later it is deleted. Remove deletes its object
// while the row is locked: whoever wants to upload the same bytes waits, and
// then uploads them anew.
func (q Queries) Collect(ctx context.Context, p IdlePackage, grace time.Duration, remove func(key string) error) error {
	key, err := q.q.PackageDelete(ctx, dbsqlc.PackageDeleteParams{WorkspaceID: q.ws, Sha256: p.SHA[:], Grace: grace})
	if err == nil {
		return remove(key)
	}
	if !isNoRows(err) {
		return classify("delete the package", err)
	}
	_, err = q.q.PackageCondemn(ctx, dbsqlc.PackageCondemnParams{WorkspaceID: q.ws, Sha256: p.SHA[:], Grace: grace})
	return classify("condemn the package", err)
}

// PackageKeys lists where the workspace's packages are kept.
func (q Queries) PackageKeys(ctx context.Context) ([]string, error) {
	keys, err := q.q.PackageKeys(ctx, q.ws)
	return keys, classify("list the packages", err)
}
