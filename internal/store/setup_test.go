package store_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"cairn/internal/domain/access"
	"cairn/internal/lab/pgtest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// bundle is a fresh database with two workspaces.
type bundle struct {
	*store.Store
	t     *testing.T
	url   string
	admin *pgxpool.Pool // superuser: sees everything
	a, b  access.Workspace
}

func setup(t *testing.T, change ...func(*store.Options)) *bundle {
	t.Helper()
	b := &bundle{t: t, url: pgtest.Database(t)}
	o := store.Options{MaxConns: 4}
	for _, f := range change {
		f(&o)
	}
	var err error
	b.Store, err = store.Open(t.Context(), b.url, o)
	testkit.Must(t, err)
	t.Cleanup(b.Close)
	c, err := pgxpool.ParseConfig(b.url)
	testkit.Must(t, err)
	c.ConnConfig.RuntimeParams["search_path"] = "cairn, public"
	b.admin, err = pgxpool.NewWithConfig(t.Context(), c)
	testkit.Must(t, err)
	t.Cleanup(b.admin.Close)
	b.a, err = b.Workspace(t.Context(), "a", true)
	testkit.Must(t, err)
	b.b, err = b.Workspace(t.Context(), "b", true)
	testkit.Must(t, err)
	return b
}

// in runs fn in a workspace and fails the test on an error.
func (b *bundle) in(ws access.Workspace, fn func(context.Context, store.Tx) error) {
	b.t.Helper()
	testkit.Must(b.t, b.InWorkspace(b.t.Context(), ws.ID, func(_ context.Context, q store.Tx) error {
		return fn(b.t.Context(), q)
	}))
}

// exec runs a statement as the superuser.
func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.admin.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

// number returns the number that a query of the superuser returns.
func (b *bundle) number(sql string, args ...any) (n int) {
	b.t.Helper()
	if err := b.admin.QueryRow(b.t.Context(), sql, args...).Scan(&n); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// texts returns a column as the superuser reads it.
func (b *bundle) texts(sql string, args ...any) []string {
	b.t.Helper()
	rows, _ := b.admin.Query(b.t.Context(), sql, args...)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// as returns a separate session whose effective role is role.
func (b *bundle) as(role string) *session {
	b.t.Helper()
	c, err := pgx.ParseConfig(b.url)
	testkit.Must(b.t, err)
	c.RuntimeParams["role"], c.RuntimeParams["search_path"] = role, "cairn, public"
	conn, err := pgx.ConnectConfig(b.t.Context(), c)
	testkit.Must(b.t, err)
	b.t.Cleanup(func() { conn.Close(context.Background()) })
	return &session{t: b.t, conn: conn}
}

// session is one connection without the store.
type session struct {
	t    *testing.T
	conn *pgx.Conn
}

// do runs a statement and returns the number of changed rows.
func (s *session) do(sql string, args ...any) int64 {
	s.t.Helper()
	tag, err := s.conn.Exec(s.t.Context(), sql, args...)
	if err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return tag.RowsAffected()
}

func (s *session) number(sql string, args ...any) (n int) {
	s.t.Helper()
	if err := s.conn.QueryRow(s.t.Context(), sql, args...).Scan(&n); err != nil {
		s.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// refuses requires that a statement fails with an SQLSTATE.
func (s *session) refuses(state, sql string, args ...any) {
	s.t.Helper()
	_, err := s.conn.Exec(s.t.Context(), sql, args...)
	if got := sqlState(err); got != state {
		s.t.Errorf("%s: SQLSTATE %q (%v), want %s", sql, got, err, state)
	}
}

func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// login creates a login for the test that is a member of roles, and returns the database URL for
// it.
func (b *bundle) login(name string, roles ...string) string {
	b.t.Helper()
	b.role(name, "login noinherit password 'test'")
	for _, r := range roles {
		b.exec(fmt.Sprintf("grant %s to %s", r, name))
	}
	u, err := url.Parse(b.url)
	testkit.Must(b.t, err)
	u.User = url.UserPassword(name, "test")
	return u.String()
}

// role creates a role that is dropped at the end of the test. Roles belong to the whole server.
func (b *bundle) role(name, options string) {
	b.t.Helper()
	b.exec("create role " + name + " " + options)
	b.t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), b.url)
		testkit.Must(b.t, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(context.Background(), "drop owned by "+name+"; drop role "+name)
		testkit.Must(b.t, err)
	})
}

// until waits for an effect of another session.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// untilBlocked waits until n sessions of the test's database wait for a lock.
func (b *bundle) untilBlocked(n int) {
	b.t.Helper()
	until(b.t, "a blocked session", func() bool {
		return b.number("select count(*) from pg_stat_activity where datname = current_database() and "+
			"wait_event_type = 'Lock'") >= n
	})
}
