package production

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cairn/internal/lab/bench/ground"
)

// operator runs the commands of the runbook.
type operator struct {
	e       *experiment
	folder  string
	own     PageRunner // as this account
	server  PageRunner // as the account of the server
	copy    string     // commands that copy the package store
	dump    string
	blocks  []string // of the section Restore: database, packages, accept
	archive []string // of Archive the WAL: settings, base backup
	point   []string // of Restore to a point in time: data folder, end
}

func (e *experiment) operator(page Page, name string) (*operator, error) {
	o := &operator{e: e, folder: filepath.Join(e.folder, "backup-"+strings.Fields(name)[0])}
	for _, section := range []struct {
		heading string
		n       int
		into    *[]string
	}{{"Restore", 3, &o.blocks}, {"Archive the WAL", 2, &o.archive}, {"Restore to a point in time", 2, &o.point}} {
		blocks, err := page.Blocks(section.heading, section.n)
		if err != nil {
			return nil, err
		}
		*section.into = blocks
	}
	backups, err := page.Blocks("Back up", 2)
	if err != nil {
		return nil, err
	}
	o.dump, o.copy = backups[0], backups[1]
	archive := filepath.Join(o.folder, "wal")
	for _, folder := range []string{o.folder, archive} {
		if err := e.primary.Claim(folder); err != nil {
			return nil, err
		}
	}
	if err := os.Chmod(o.folder, 0o755); err != nil {
		return nil, fmt.Errorf("open the folder of backups: %w", err)
	}
	programs := filepath.Join(o.folder, "bin")
	if err := os.MkdirAll(programs, 0o755); err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	if err := os.Symlink(e.cairn, filepath.Join(programs, "cairn")); err != nil {
		return nil, fmt.Errorf("link cairn: %w", err)
	}
	environ := append(ground.Environment(slices.Concat(e.base(), e.pooled())),
		"PATH="+strings.Join([]string{programs, e.primary.Bin(), os.Getenv("PATH")}, ":"),
		"ADMIN_DATABASE_URL="+e.admin(), "SERVER_URL="+e.primary.URL("postgres", "postgres"),
		"DATABASE_NAME="+database, "PGDATA="+e.primary.Data(), "WAL_ARCHIVE="+archive)
	o.own = PageRunner{Folder: o.folder, Environ: environ}
	o.server = PageRunner{Folder: o.folder, Environ: environ, Command: e.primary.Command}
	return o, nil
}

// runBlocks runs blocks of commands, and returns the output of the last one.
func runBlocks(ctx context.Context, r PageRunner, blocks ...string) (out string, err error) {
	for _, block := range blocks {
		if out, err = r.Run(ctx, block); err != nil {
			return out, err
		}
	}
	return out, nil
}

// packages copies the package store.
func (o *operator) packages(ctx context.Context) error {
	_, err := runBlocks(ctx, o.own, "mkdir -p \"$SKILLS_LOCAL_DIR\"\n"+o.copy)
	return err
}

// accept restores the package store, and accepts the database.
func (o *operator) accept(ctx context.Context) (string, error) {
	return runBlocks(ctx, o.own, o.blocks[1:]...)
}
