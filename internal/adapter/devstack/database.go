package devstack

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/fault"
)

// database is the PostgreSQL side of a stack, wherever it comes from.
type database interface {
	url() string                                   // administrator, database `cairn`
	found() []Found                                // for people
	restart(ctx context.Context, crash bool) error // same address, same data
	close() error                                  // stops what we started
}

// databaseName is the database of a server of our own.
const databaseName = "cairn"

//go:embed inspect.sql
var inspectQuery string

// offer is what a running server has.
type offer struct {
	postgres, vector version
	exists           bool // the database asked about
}

// inspectDatabase asks a running server what it has.
func inspectDatabase(ctx context.Context, conn *pgx.Conn, name string) (offer, error) {
	var number int
	var vector string
	var o offer
	if err := conn.QueryRow(ctx, inspectQuery, name).Scan(&number, &vector, &o.exists); err != nil {
		return o, fmt.Errorf("ask PostgreSQL for its version: %w", err)
	}
	o.postgres = version{major: number / 10000, minor: number % 10000}
	o.vector = parseVersion(vector)
	return o, nil
}

// problem says why the server will not do.
func (o offer) problem() error {
	switch {
	case !o.postgres.atLeast(needPostgres):
		return fault.New(fault.Misconfigured,
			fmt.Sprintf("the server is PostgreSQL %s and %d or newer is needed", o.postgres, needPostgres.major),
			"point DATABASE_URL at a newer server, or unset it and let Cairn start one")
	case o.vector == version{}:
		return fault.New(fault.Misconfigured, "pgvector is not installed on the server",
			"install the package postgresql-"+fmt.Sprint(o.postgres.major)+"-pgvector there (or use the image "+
				"pgvector/pgvector), or unset DATABASE_URL and let Cairn start a server")
	case !o.vector.atLeast(needVector):
		return fault.New(fault.Misconfigured,
			fmt.Sprintf("the server's pgvector is %s and %s or newer is needed", o.vector, needVector),
			"upgrade pgvector there, or unset DATABASE_URL and let Cairn start a server")
	}
	return nil
}

// readyDatabase makes sure that a server of our own has what we need and the
// database `cairn`.
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

// givenDatabase is the server that DATABASE_URL names. We use it and nothing else.
type givenDatabase struct {
	address string
	has     offer
}

func useDatabase(ctx context.Context, address string) (database, error) {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "connect to the database that DATABASE_URL names",
			"start that server or correct DATABASE_URL; without it Cairn starts a server of its own")
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
	return fault.New(fault.NotManaged, "the database that DATABASE_URL names is not ours to restart",
		"unset DATABASE_URL")
}

func (d *givenDatabase) found() []Found {
	return []Found{
		{Part: "PostgreSQL", Status: statusOK, Version: d.has.postgres.String(), Where: "DATABASE_URL"},
		{Part: "pgvector", Status: statusOK, Version: d.has.vector.String(), Where: "DATABASE_URL"},
	}
}
