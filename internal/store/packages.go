package store

import (
	"context"
	"crypto/sha256"
	"time"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/outbox"
	"cairn/internal/store/dbsqlc"
)

// TouchPackage records that a zip is about to be uploaded, so that it is not collected. Call it
// before the upload; the commit makes the package live. While the same bytes are being deleted, it
// fails with Unavailable.
func (q PackageRepository) TouchPackage(ctx context.Context, sha [sha256.Size]byte, key string, bytes int) error {
	n, err := q.q.PackageTouch(ctx, dbsqlc.PackageTouchParams{WorkspaceID: q.ws, Sha256: sha[:], Key: key,
		Bytes: int32(bytes)})
	if err == nil && n == 0 {
		return fault.New(fault.Unavailable, "the same package is being deleted", "")
	}
	return classify("record the package", err)
}

// IdlePackages lists uploads that have not become live within grace.
func (s *Store) IdlePackages(ctx context.Context, grace time.Duration, max int) (out []outbox.IdlePackage, err error) {
	err = s.WithSystem(ctx, func(q *dbsqlc.Queries) error {
		rows, err := q.PackagesIdle(ctx, dbsqlc.PackagesIdleParams{Grace: grace, MaxRows: int32(max)})
		for _, r := range rows {
			out = append(out, outbox.IdlePackage{Workspace: r.WorkspaceID, SHA: [32]byte(r.Sha256)})
		}
		return err
	})
	return out, err
}

// CollectPackage advances the collection of one idle package. First it condemns the package, so
// that no commit can make it live. After another grace it marks it as being deleted and returns the
// key of its object: the caller deletes the object and then calls ForgetPackage. Until then the
// same bytes cannot be uploaded.
func (q PackageRepository) CollectPackage(ctx context.Context, p outbox.IdlePackage, grace time.Duration) (key string,
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

// ForgetPackage deletes the row of a package whose object is deleted.
func (q PackageRepository) ForgetPackage(ctx context.Context, sha [sha256.Size]byte) error {
	err := q.q.PackageForget(ctx, dbsqlc.PackageForgetParams{WorkspaceID: q.ws, Sha256: sha[:]})
	return classify("forget the package", err)
}

// AbandonPackage reports whether a task or its package was erased. The package of an erased task is
// marked as being deleted, as in CollectPackage.
func (q PackageRepository) AbandonPackage(ctx context.Context, t distillation.Task) (bool, error) {
	sha := t.Package.Version.PackageSHA
	n, err := q.q.PackageAbandon(ctx, dbsqlc.PackageAbandonParams{
		WorkspaceID: q.ws, Sha256: sha[:], RunID: t.Ref.Run, TaskKey: t.Key})
	if err != nil || n == 1 {
		return n == 1, classify("abandon the package", err)
	}
	there, err := q.q.PackageThere(ctx, dbsqlc.PackageThereParams{WorkspaceID: q.ws, Sha256: sha[:]})
	return err == nil && !there, classify("find the package", err)
}

// PackageKeys lists the object keys of the workspace's packages.
func (q PackageRepository) PackageKeys(ctx context.Context) ([]string, error) {
	keys, err := q.q.PackageKeys(ctx, q.ws)
	return keys, classify("list the packages", err)
}
