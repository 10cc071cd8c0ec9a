// Package audit counts, after an experiment, what the database, the model's
// server and Temporal say was done.
package audit

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Audit reads all rows, as the superuser whom row-level security does not bind.
type Audit struct {
	*pgxpool.Pool
	queries string
}

// Open connects to url. Queries is a file of statements, each under a line
// "-- name: …".
func Open(ctx context.Context, url, queries string) (*Audit, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read the audit's connection: %w", err)
	}
	const enough = 3 // whoever waits for the end, whoever waits for a crash, one to spare
	c.MaxConns = enough
	p, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open the audit's connection: %w", err)
	}
	return &Audit{Pool: p, queries: queries}, nil
}

// Text is a named query.
func (a *Audit) Text(name string) string { return named(a.queries, name) }

func named(queries, name string) string {
	_, rest, found := strings.Cut(queries, "-- name: "+name+"\n")
	if !found {
		panic("audit: there is no query " + name)
	}
	text, _, _ := strings.Cut(rest, "-- name: ")
	return strings.TrimSpace(text)
}

// Number runs a query whose answer is one number.
func (a *Audit) Number(ctx context.Context, name string) (n int, err error) {
	if err := a.QueryRow(ctx, a.Text(name)).Scan(&n); err != nil {
		return 0, fmt.Errorf("count %s: %w", name, err)
	}
	return n, nil
}
