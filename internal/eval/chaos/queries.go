package chaos

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed audit.sql
var auditSQL string

// query is a named query of audit.sql.
func query(name string) string {
	_, rest, found := strings.Cut(auditSQL, "-- name: "+name+"\n")
	if !found {
		panic("chaos: audit.sql has no query " + name)
	}
	text, _, _ := strings.Cut(rest, "-- name: ")
	return strings.TrimSpace(text)
}

// auditPool connects as the superuser, whom row-level security does not bind.
func auditPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
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
	return p, nil
}

// number runs a query whose answer is one number.
func (e *experiment) number(ctx context.Context, name string) (n int, err error) {
	if err := e.audit.QueryRow(ctx, query(name)).Scan(&n); err != nil {
		return 0, fmt.Errorf("count %s: %w", name, err)
	}
	return n, nil
}
