package devstack

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/fault"
)

// database is the PostgreSQL server of a stack, whether managed or external.
type database interface {
	url() string                                   // connection string of the administrator to database `cairn`
	found() []Found                                // description for people
	restart(ctx context.Context, crash bool) error // keeps the address and the data
	close() error                                  // stops a server that this stack started
}

// databaseName is the database on a managed server.
const databaseName = "cairn"

//go:embed inspect.sql
var inspectQuery string

// offer describes the versions and databases of a running server.
type offer struct {
	postgres, vector version
	exists           bool // whether the requested database exists
}

// inspectDatabase returns the versions of a running server and whether the database name exists.
func inspectDatabase(ctx context.Context, conn *pgx.Conn, name string) (offer, error) {
	var number int
	var vector string
	var o offer
	if err := conn.QueryRow(ctx, inspectQuery, name).Scan(&number, &vector, &o.exists); err != nil {
		return o, fmt.Errorf("read the PostgreSQL version: %w", err)
	}
	o.postgres = version{major: number / 10000, minor: number % 10000}
	o.vector = parseVersion(vector)
	return o, nil
}

// problem returns an error if the server does not meet the requirements.
func (o offer) problem() error {
	switch {
	case !o.postgres.atLeast(needPostgres):
		return fault.New(fault.Misconfigured,
			fmt.Sprintf("PostgreSQL %s is too old: %d or newer is required", o.postgres, needPostgres.major),
			"point DATABASE_URL at a newer server, or unset it and let Cairn start one")
	case o.vector == version{}:
		return fault.New(fault.Misconfigured, "pgvector is not installed on the server",
			"install the package postgresql-"+fmt.Sprint(o.postgres.major)+"-pgvector on it (or use the image "+
				"pgvector/pgvector), or unset DATABASE_URL and let Cairn start a server")
	case !o.vector.atLeast(needVector):
		return fault.New(fault.Misconfigured,
			fmt.Sprintf("pgvector %s is too old: %s or newer is required", o.vector, needVector),
			"upgrade pgvector on the server, or unset DATABASE_URL and let Cairn start a server")
	}
	return nil
}

// readyDatabase checks that a managed server meets the requirements and creates the database
// `cairn` if it is missing.
func readyDatabase(ctx context.Context, maintenance string) (offer, error) {
	conn, err := pgx.Connect(ctx, maintenance)
	if err != nil {
		return offer{}, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer conn.Close(ctx)
	has, err := inspectDatabase(ctx, conn, databaseName)
	if err != nil {
		return has, err
	}
	if err := has.problem(); err != nil {
		return has, err
	}
	if !has.exists {
		if _, err := conn.Exec(ctx, "CREATE DATABASE "+databaseName); err != nil {
			return has, fmt.Errorf("create the database %s: %w", databaseName, err)
		}
	}
	return has, nil
}

// givenDatabase is the server that DATABASE_URL names. It is used as it is, and no other server is
// started.
type givenDatabase struct {
	address string
	has     offer
}

func useDatabase(ctx context.Context, address string) (database, error) {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "connect to the database that DATABASE_URL names",
			"start that server or correct DATABASE_URL, or unset it and let Cairn start a server")
	}
	defer conn.Close(ctx)
	has, err := inspectDatabase(ctx, conn, "")
	if err != nil {
		return nil, err
	}
	if err := has.problem(); err != nil {
		return nil, err
	}
	return &givenDatabase{address: address, has: has}, nil
}

func (d *givenDatabase) url() string  { return d.address }
func (d *givenDatabase) close() error { return nil }

func (d *givenDatabase) restart(context.Context, bool) error {
	return fault.New(fault.NotManaged, "Cairn does not manage the database that DATABASE_URL names",
		"unset DATABASE_URL and let Cairn start a server")
}

func (d *givenDatabase) found() []Found {
	return []Found{
		{Part: "PostgreSQL", Status: statusOK, Version: d.has.postgres.String(), Where: "DATABASE_URL"},
		{Part: "pgvector", Status: statusOK, Version: d.has.vector.String(), Where: "DATABASE_URL"},
	}
}
