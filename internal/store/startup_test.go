package store_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"cairn/internal/domain/fault"
	"cairn/internal/store"
	"cairn/internal/store/dbsqlc"
	"cairn/internal/testkit"
)

// roleName returns a name that no other test on the server uses.
func roleName() string { return "cairn_test_" + strings.ToLower(rand.Text()[:12]) }

func TestStartUpRefusesRolesThatPoliciesDoNotBind(t *testing.T) {
	t.Parallel()
	b := setup(t)
	super, bypass, member, owner := roleName(), roleName(), roleName(), roleName()
	b.role(super, "superuser")
	b.role(bypass, "bypassrls")
	b.role(member, "in role cairn_owner") // could switch the policies off
	b.role(owner, "")
	for _, r := range []string{bypass, owner} {
		b.exec("grant usage, create on schema cairn to " + r)
	}
	b.exec("create table mine (x int); alter table mine owner to " + owner)
	for _, role := range []string{super, bypass, member, owner, "cairn_owner"} {
		err := store.CheckRoleOf(t.Context(), b.url, role)
		if fault.CodeOf(err) != fault.Misconfigured {
			t.Errorf("a session as %s: %v, want %s", role, err, fault.Misconfigured)
		}
	}
	for _, role := range []string{"cairn_app", "cairn_system"} {
		if err := store.CheckRoleOf(t.Context(), b.url, role); err != nil {
			t.Errorf("a session as %s is refused: %v", role, err)
		}
	}
}

func TestALoginNeedsOnlyTheTwoRoles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, err := store.Open(t.Context(), b.login(roleName(), "cairn_app", "cairn_system"), store.Options{})
	if err != nil {
		t.Fatalf("a member of both roles: %v", err)
	}
	s.Close()
	for name, address := range map[string]string{
		"a member of none":     b.login(roleName()),
		"a member of the app":  b.login(roleName(), "cairn_app"),
		"a login of no server": strings.Replace(b.login(roleName()), "cairn_test_", "cairn_nobody_", 1),
	} {
		s, err := store.Open(t.Context(), address, store.Options{})
		if fault.CodeOf(err) != fault.Misconfigured {
			t.Errorf("%s: %v, want %s", name, err, fault.Misconfigured)
		}
		if err == nil {
			s.Close()
		}
	}
}

// A role of the right name is not enough: it may have additional rights.
func TestBothPoolsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("alter table outbox owner to cairn_system")
	s, err := store.Open(t.Context(), b.url, store.Options{})
	if fault.CodeOf(err) != fault.Misconfigured {
		t.Errorf("a system role that owns a table: %v, want %s", err, fault.Misconfigured)
	}
	if err == nil {
		s.Close()
	}
}

// A generic plan that was cached for one workspace made the next one a hundred
// times slower and its results incomplete.
func TestNoPlanIsSharedBetweenWorkspaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, c := range []struct {
		pool          *pgxpool.Pool
		opening, role string
	}{
		{b.AppPool(), fmt.Sprintf(store.ReadCommitted, b.a.ID, 0), "cairn_app"},
		{b.AppPool(), store.InRole("cairn_app"), "cairn_app"},
		{b.SystemPool(), store.InRole("cairn_system"), "cairn_system"},
	} {
		testkit.Must(t, c.pool.AcquireFunc(t.Context(), func(conn *pgxpool.Conn) error {
			for _, statement := range []string{"select 1", "reset all", "set plan_cache_mode = default",
				"set role none", "discard all"} {
				if _, err := conn.Exec(t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
					return err
				}
				tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{BeginQuery: c.opening})
				testkit.Must(t, err)
				var mode, role string
				err = tx.QueryRow(t.Context(), "select current_setting('plan_cache_mode'), current_user",
					pgx.QueryExecModeSimpleProtocol).Scan(&mode, &role)
				if err != nil || mode != "force_custom_plan" || role != c.role {
					t.Errorf("after %q: plan_cache_mode %s as %s, %v", statement, mode, role, err)
				}
				testkit.Must(t, tx.Rollback(t.Context()))
			}
			return nil
		}))
	}
}

// A pooler that loses the role, and a login with rights of its own: both are refused.
func TestASessionUnderAnotherRoleIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, role := range []string{"cairn_system", "cairn_owner"} {
		b.as(role).refuses("CA004", "select cairn.require_role('cairn_app')")
	}
	b.as("cairn_app").refuses("CA004", "select cairn.require_role('cairn_system')")
	b.exec("grant execute on function cairn.enter(bigint, int) to cairn_system")
	b.as("cairn_system").refuses("CA004", "select cairn.enter($1)", b.a.ID)

	inherits := roleName()
	address := b.login(inherits, "cairn_app", "cairn_system")
	b.exec(fmt.Sprintf("alter role %[1]s inherit; revoke cairn_app, cairn_system from %[1]s; "+
		"grant cairn_app, cairn_system to %[1]s", inherits))
	_, err := store.Open(t.Context(), address, store.Options{})
	if fault.CodeOf(err) != fault.Misconfigured || !strings.Contains(err.Error(), inherits) {
		t.Fatalf("a login that inherits: %v", err)
	}
	_, hint, _ := strings.Cut(fault.From(err).Hint, "`")
	b.exec(strings.TrimSuffix(hint, "`"))
	s, err := store.Open(t.Context(), address, store.Options{})
	testkit.Must(t, err) // after following the hint
	s.Close()
}

// A pooler loses the statement that sets the role of a transaction. No row is read, and the error names
// the statements that correct the login, also if the login has rights of its own.
func TestATransactionWithoutItsRoleNamesTheGrant(t *testing.T) {
	t.Parallel()
	b := setup(t)
	name := roleName()
	proxy, address := testkit.DatabaseProxy(t, b.login(name, "cairn_app", "cairn_system"))
	var dropping atomic.Bool
	proxy.Edit(func(sent []byte) []byte {
		if !dropping.Load() {
			return sent
		}
		return bytes.ReplaceAll(bytes.ReplaceAll(sent, []byte("set local role cairn_app"),
			[]byte("set local role none     ")), []byte("set local role cairn_system"),
			[]byte("set local role none        "))
	})
	s, err := store.Open(t.Context(), address, store.Options{})
	testkit.Must(t, err)
	t.Cleanup(s.Close)
	dropping.Store(true)
	for _, inherits := range []string{"noinherit", "inherit"} {
		b.exec(fmt.Sprintf("alter role %[1]s %[2]s; revoke cairn_app, cairn_system from %[1]s; "+
			"grant cairn_app, cairn_system to %[1]s", name, inherits))
		err := s.InWorkspace(t.Context(), b.a.ID, func(context.Context, store.Tx) error {
			t.Error("the transaction was entered")
			return nil
		})
		_, ofSystem := s.Backlog(t.Context())
		for _, err := range []error{err, ofSystem} {
			if fault.CodeOf(err) != fault.Misconfigured || !strings.Contains(fault.From(err).Hint, "grant cairn_app, "+
				"cairn_system to "+pgx.Identifier{name}.Sanitize()) {
				t.Errorf("%s: %v", inherits, err)
			}
		}
	}
	dropping.Store(false)
	testkit.Must(t, s.InWorkspace(t.Context(), b.a.ID, func(context.Context, store.Tx) error { return nil }))
}

// A step's statements find their rows by keys. They are planned once per connection while all
// tables are small, and still use their indexes.
func TestStatementsByKeysArePlannedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	testkit.Must(t, b.AppPool().AcquireFunc(t.Context(), func(conn *pgxpool.Conn) error {
		setting := func(name string) (out string) {
			query := conn.QueryRow(t.Context(), "select current_setting($1)", pgx.QueryExecModeExec, name)
			testkit.Must(t, query.Scan(&out))
			return out
		}
		tx, err := conn.BeginTx(t.Context(), pgx.TxOptions{BeginQuery: fmt.Sprintf(store.ByKeys, b.a.ID, 0)})
		testkit.Must(t, err)
		if mode := setting("plan_cache_mode"); mode != "force_generic_plan" {
			t.Errorf("within the transaction plan_cache_mode is %s", mode)
		}
		for name, statement := range map[string]string{"run": dbsqlc.RunGet, "turn": dbsqlc.TurnByRun,
			"steps": dbsqlc.StepsOf, "messages": dbsqlc.TurnMessages, "session": dbsqlc.RunSessionGet,
			"live session": dbsqlc.SessionOffered, "call": dbsqlc.CallGet, "room": dbsqlc.CallRoom} {
			described, err := conn.Conn().Prepare(t.Context(), name, statement)
			testkit.Must(t, err)
			nothing := strings.TrimSuffix(strings.Repeat("null,", len(described.ParamOIDs)), ",")
			explain := fmt.Sprintf("explain execute %q (%s)", name, nothing)
			rows, _ := tx.Query(t.Context(), explain, pgx.QueryExecModeSimpleProtocol)
			lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
			testkit.Must(t, err)
			plan := strings.Join(lines, "\n")
			if strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, "Index") || !strings.Contains(plan, "$1") {
				t.Errorf("%s is planned as\n%s", name, plan)
			}
		}
		testkit.Must(t, tx.Commit(t.Context()))
		mode, scans := setting("plan_cache_mode"), setting("enable_seqscan")
		if mode != "auto" || scans != "on" {
			t.Errorf("after the transaction plan_cache_mode is %s and enable_seqscan %s", mode, scans)
		}
		return nil
	}))
}

func TestADatabaseThatWasNotMigratedSaysSo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	misses := func(what string, err error) {
		t.Helper()
		if f := fault.From(err); err == nil || f.Code != fault.Misconfigured ||
			!strings.Contains(f.Hint, "cairn migrate") {
			t.Errorf("%s: %v, want %s with the hint to migrate", what, err, fault.Misconfigured)
		}
	}
	_, err := store.Open(t.Context(), b.empty(), store.Options{})
	misses("an empty database", err)

	b.exec("alter table runs rename column reason to excuse")
	misses("a column of another version", b.InWorkspace(t.Context(), b.a.ID,
		func(_ context.Context, q store.Tx) error {
			_, err := q.Runs().Run(t.Context(), "run_1")
			return err
		}))
	b.exec("drop table tool_op_log")
	misses("a missing table", b.InWorkspace(t.Context(), b.a.ID, func(_ context.Context, q store.Tx) error {
		_, err := store.Once(t.Context(), q, "op", nil, func() (int, error) { return 1, nil })
		return err
	}))
	b.exec("drop function cairn.session_roles")
	_, err = store.Open(t.Context(), b.url, store.Options{})
	misses("a missing function", err)
}

// empty creates an empty database and returns its URL.
func (b *bundle) empty() string {
	b.t.Helper()
	name := roleName()
	b.exec("create database " + name)
	b.t.Cleanup(func() {
		conn, err := pgx.Connect(context.Background(), b.url)
		testkit.Must(b.t, err)
		defer conn.Close(context.Background())
		_, err = conn.Exec(context.Background(), "drop database "+name+" with (force)")
		testkit.Must(b.t, err)
	})
	u, err := url.Parse(b.url)
	testkit.Must(b.t, err)
	u.Path = "/" + name
	return u.String()
}
