package store

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/schemas"
)

// Migrate creates the roles and migrates the database at url to this program's schema version. The
// login needs the right to create roles; a superuser has it. It returns the versions that it
// applied. If two processes run it at the same time, one waits for the other.
func Migrate(ctx context.Context, url string) ([]int64, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "invalid DATABASE_URL",
			"write it as postgres://user:password@host:port/database")
	}
	if err := prepareRoles(ctx, c); err != nil {
		return nil, err
	}
	c.RuntimeParams["role"] = "cairn_owner"
	c.RuntimeParams["search_path"] = "cairn, public"
	account := storable(audit.From(ctx).Account)
	db := stdlib.OpenDB(*c, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "select set_config('cairn.account', $1, false)", account) // for audit_migration
		return err
	}))
	defer db.Close()
	p, err := provider(db)
	if err != nil {
		return nil, err
	}
	if err := refuseOlder(ctx, p); err != nil {
		return nil, err
	}
	results, err := p.Up(ctx)
	if err != nil {
		return nil, classify("migrate", err)
	}
	var applied []int64
	for _, r := range results {
		applied = append(applied, r.Source.Version)
	}
	return applied, nil
}

// refuseOlder rejects a database whose schema is older than the first migration of this program.
func refuseOlder(ctx context.Context, p *goose.Provider) error {
	version, err := p.GetDBVersion(ctx)
	if err != nil {
		return classify("read the schema's version", err)
	}
	if first := p.ListSources()[0].Version; version > 0 && version < first {
		return fault.New(fault.Misconfigured,
			fmt.Sprintf("the database has schema version %d, but this program migrates from %d on", version, first),
			"create a new database; for the one of `cairn dev` and `cairn demo`, delete the folder that --home names, "+
				"in a clone .cairn")
	}
	return nil
}

// prepareRoles creates the roles, the schema and the extension, which must exist before any object
// has an owner.
func prepareRoles(ctx context.Context, c *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return classify("connect to migrate", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, schemas.Roles); err != nil {
		if codeOf(err) == "42501" && strings.Contains(err.Error(), "extension") {
			return fault.Wrap(err, fault.Misconfigured, "the login may not create the extension vector",
				"have an administrator run `create extension vector` in this database, then migrate again")
		}
		return fault.Wrap(err, fault.Misconfigured, "create the roles, the schema and the vector extension",
			"migrate with a login that can create roles, and install pgvector 0.8 or newer on the server")
	}
	return nil
}

func provider(db *sql.DB) (*goose.Provider, error) {
	files, err := fs.Sub(schemas.Migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("open the migrations: %w", err)
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return nil, fmt.Errorf("create the migration lock: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker))
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return p, nil
}
