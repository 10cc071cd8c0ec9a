package chaos

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"cairn/internal/service/distill"
)

type packageRow struct {
	Key   string
	State string
	SHA   []byte
	Used  bool
}

// countPackages compares rows with objects on disk, in both directions.
func (e *experiment) countPackages(ctx context.Context, _ []request) error {
	d := &e.result.Doubled
	rows, _ := e.Audit.Query(ctx, e.Audit.Text("packages"))
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[packageRow])
	if err != nil {
		return fmt.Errorf("read the packages: %w", err)
	}
	root := filepath.Join(e.Folder, "packages")
	known := map[string]bool{}
	for _, p := range all {
		for _, object := range distill.PackageObjects(p.Key) {
			known[object] = true
		}
		if !p.Used {
			d.Waiting++ // uploaded for an outdated base, or killed before the commit
			continue
		}
		d.AllPackages++
		if p.State != "live" {
			e.found(&d.Packages, "package %s is in use and %s", p.Key, p.State)
		}
		archive, err := os.ReadFile(filepath.Join(root, p.Key))
		if sum := sha256.Sum256(archive); err != nil || string(sum[:]) != string(p.SHA) {
			e.found(&d.Packages, "package %s: object differs from its row (%v)", p.Key, err)
		}
	}
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir():
		case strings.HasPrefix(path.Base(name), ".put-"): // left by a killed writer; collected later
			d.Temporary++
		case !known[name]:
			e.found(&d.Packages, "object %s has no row", name)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("walk the packages: %w", err)
	}
	return nil
}
