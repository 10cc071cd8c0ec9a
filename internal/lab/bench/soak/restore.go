package soak

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"cairn/internal/store"
)

// dump makes a backup when no reply and no review is in progress, so that the expected reviews stay
// the same. The requests of the model server are marked: later ones are forgotten with the rows.
func (e *experiment) dump(ctx context.Context) error {
	if err := e.each(ctx, func(ctx context.Context, i int) error { e.awaitReview(ctx, i); return nil }); err != nil {
		return err
	}
	err := e.Audit.QueryRow(ctx, "select setting from pg_config where name = 'BINDIR'").Scan(&e.programs)
	if err != nil {
		return fmt.Errorf("find the server's programs: %w", err)
	}
	e.mark = e.Model.Mark()
	e.Say("dumping the database")
	return e.program(ctx, "pg_dump", "--format=custom", "--file="+e.backup(), e.Stack.DatabaseURL())
}

// restore replaces the database by the backup, as docs/operations/backup.md describes. No worker runs.
func (e *experiment) restore(ctx context.Context) error {
	e.Say("restoring the database")
	e.Model.Rewind(e.mark)
	c, err := pgx.ParseConfig(e.Stack.DatabaseURL())
	if err != nil {
		return fmt.Errorf("parse the database's URL: %w", err)
	}
	name := c.Database
	c.Database = "template1"
	server, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return fmt.Errorf("connect to restore: %w", err)
	}
	defer server.Close(ctx)
	for _, sql := range []string{"drop database %s with (force)", "create database %s"} {
		if _, err := server.Exec(ctx, fmt.Sprintf(sql, pgx.Identifier{name}.Sanitize())); err != nil {
			return fmt.Errorf("replace the database: %w", err)
		}
	}
	err = e.program(ctx, "pg_restore", "--exit-on-error", "--dbname="+e.Stack.DatabaseURL(), e.backup())
	if err != nil {
		return err
	}
	if _, err := store.Migrate(ctx, e.Stack.DatabaseURL()); err != nil {
		return err
	}
	accepted, err := store.AcceptRestore(ctx, e.Stack.DatabaseURL())
	if err != nil {
		return err
	}
	e.now = accepted.Incarnation
	e.Audit.Reset()
	return e.insist(ctx, askPatience, func(ctx context.Context) (bool, error) {
		if err := e.App.Store.ReadIncarnation(ctx); err != nil {
			return false, err
		}
		for i, t := range e.talks {
			if e.workspaces[i], err = e.App.Store.Workspace(ctx, t.name, false); err != nil {
				return false, err
			}
		}
		return true, nil
	})
}

func (e *experiment) backup() string { return filepath.Join(e.Folder, "cairn.dump") }

// program runs a program of the server's installation.
func (e *experiment) program(ctx context.Context, name string, arguments ...string) error {
	out, err := exec.CommandContext(ctx, filepath.Join(e.programs, name), arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("run %s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}
