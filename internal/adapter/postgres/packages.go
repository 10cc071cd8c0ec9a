package postgres

import (
	"context"
	"crypto/sha256"
	"time"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/fault"
	"cairn/internal/service/distill"
	"cairn/internal/service/relay"
)

// TouchPackage records that a zip is about to be uploaded, so that collection
// waits. It comes before the upload; the commit makes the package live. While the
// same bytes are being deleted it is Unavailable.
func (q packageRepository) TouchPackage(ctx context.Context, sha [sha256.Size]byte, key string, bytes int) error {
	n, err := q.q.PackageTouch(ctx, dbsqlc.PackageTouchParams{WorkspaceID: q.ws, Sha256: sha[:], Key: key,
		Bytes: int32(bytes)})
	if err == nil && n == 0 {
		return fault.New(fault.Unavailable, "the same package is being deleted just now", "")
	}
	return classify("record the package", err)
}

// IdlePackages lists uploads that have not become live for grace.
func (s *Store) IdlePackages(ctx context.Context, grace time.Duration, max int) (out []relay.IdlePackage, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.PackagesIdle(ctx, dbsqlc.PackagesIdleParams{Grace: grace, MaxRows: int32(max)})
		for _, r := range rows {
			out = append(out, relay.IdlePackage{Workspace: r.WorkspaceID, SHA: [32]byte(r.Sha256)})
		}
		return err
	})
	return out, err
}

// CollectPackage moves one idle package on: first it is condemned, so that no commit
// can make it live. A grace later it is being deleted, and key is where its object
// is: the caller deletes that and then forgets the package. From there on nobody can
// upload the same bytes until it is forgotten.
func (q packageRepository) CollectPackage(ctx context.Context, p relay.IdlePackage, grace time.Duration) (key string,
	err error) {
	key, err = q.q.PackageDeleting(ctx, dbsqlc.PackageDeletingParams{WorkspaceID: q.ws, Sha256: p.SHA[:], Grace: grace})
	if err == nil {
		return key, nil
	}
	if !isNoRows(err) {
		return "", classify("delete the package", err)
	}
	_, err = q.q.PackageCondemn(ctx, dbsqlc.PackageCondemnParams{WorkspaceID: q.ws, Sha256: p.SHA[:], Grace: grace})
	return "", classify("condemn the package", err)
}

// ForgetPackage deletes the row of a package whose object is gone.
func (q packageRepository) ForgetPackage(ctx context.Context, sha [sha256.Size]byte) error {
	err := q.q.PackageForget(ctx, dbsqlc.PackageForgetParams{WorkspaceID: q.ws, Sha256: sha[:]})
	return classify("forget the package", err)
}

// AbandonPackage tells whether a task's package, or the task, was erased. A package
// whose task was erased is being deleted from then on, as after CollectPackage.
func (q packageRepository) AbandonPackage(ctx context.Context, t distill.Task) (bool, error) {
	sha := t.Package.Version.PackageSHA
	n, err := q.q.PackageAbandon(ctx, dbsqlc.PackageAbandonParams{
		WorkspaceID: q.ws, Sha256: sha[:], RunID: t.Ref.Run, TaskKey: t.Key})
	if err != nil || n == 1 {
		return n == 1, classify("abandon the package", err)
	}
	there, err := q.q.PackageThere(ctx, dbsqlc.PackageThereParams{WorkspaceID: q.ws, Sha256: sha[:]})
	return err == nil && !there, classify("look for the package", err)
}

// PackageKeys lists where the workspace's packages are kept.
func (q packageRepository) PackageKeys(ctx context.Context) ([]string, error) {
	keys, err := q.q.PackageKeys(ctx, q.ws)
	return keys, classify("list the packages", err)
}
