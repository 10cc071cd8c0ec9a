// Package audit compares, after an experiment, what the database, the model server and
// Temporal recorded.
package audit

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Audit reads all rows as a superuser, who is not subject to row-level security.
type Audit struct {
	*pgxpool.Pool
	queries string
}

// Open connects to url. Queries contains SQL statements, each below a line "-- name: …".
func Open(ctx context.Context, url, queries string) (*Audit, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("parse the audit's database URL: %w", err)
	}
	const enough = 3 // one waits for the end, one for a crash, one is spare
	c.MaxConns = enough
	p, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("connect the audit: %w", err)
	}
	return &Audit{Pool: p, queries: queries}, nil
}

// Text returns a named query.
func (a *Audit) Text(name string) string { return named(a.queries, name) }

func named(queries, name string) string {
	_, rest, found := strings.Cut(queries, "-- name: "+name+"\n")
	if !found {
		panic("audit: unknown query " + name)
	}
	text, _, _ := strings.Cut(rest, "-- name: ")
	return strings.TrimSpace(text)
}

// Number runs a query that returns one number.
func (a *Audit) Number(ctx context.Context, name string, args ...any) (n int, err error) {
	if err := a.QueryRow(ctx, a.Text(name), args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count %s: %w", name, err)
	}
	return n, nil
}
