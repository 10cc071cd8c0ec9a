package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/outbox"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// Pitfalls of row-level security, one test each.

func TestAWorkspaceSeesItsOwnRowsAndNobodyElses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	b.seed(b.b)
	app := b.as("cairn_app")
	for _, table := range b.tenantTables() {
		if b.number("select count(*) from "+table+" where workspace_id = $1", b.b.ID) == 0 {
			t.Errorf("%s: seed has no row for it", table)
		}
		app.do("begin")
		app.do("select cairn.enter($1)", b.a.ID)
		if n := app.number("select count(*) from " + table); n != b.number(
			"select count(*) from "+table+" where workspace_id = $1", b.a.ID) {
			t.Errorf("%s: sees %d rows", table, n)
		}
		if n := app.number("select count(*) from "+table+" where workspace_id = $1", b.b.ID); n != 0 {
			t.Errorf("%s: sees %d rows of another workspace", table, n)
		}
		app.do("rollback")
	}
	app.do("begin")
	app.do("select cairn.enter($1)", b.a.ID)
	if n := app.number("select count(*) from workspaces"); n != 1 {
		t.Errorf("sees %d workspaces", n)
	}
}

// ownerReads are the tables that a reviewed SECURITY DEFINER function reads before a workspace is
// known.
var ownerReads = []string{"api_keys", "console_codes", "console_sessions", "identities"}

func TestTheOwnerSeesNoRows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	owner := b.as("cairn_owner")
	for _, table := range b.tenantTables() {
		if n := owner.number("select count(*) from " + table); n != 0 && !slices.Contains(ownerReads, table) {
			t.Errorf("%s: the owner sees %d rows", table, n)
		}
		tag, err := owner.conn.Exec(t.Context(), "delete from "+table)
		if err != nil || tag.RowsAffected() != 0 {
			t.Errorf("%s: the owner deletes %d rows, %v", table, tag.RowsAffected(), err)
		}
	}
}

// A migration that moves data does not force row-level security on the owner while it does so.
func TestADataMigrationLiftsTheForceOfItsTable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	const change = "update skills set origin = 'import'"
	owner := b.as("cairn_owner")
	if n := owner.do(change); n != 0 {
		t.Errorf("the owner changed %d rows", n)
	}
	owner.do("begin")
	owner.do("alter table skills no force row level security")
	if n := owner.do(change); n != 1 {
		t.Errorf("the migration changed %d rows, want 1", n)
	}
	owner.do("alter table skills force row level security")
	owner.do("commit")
}

func TestOutsideAWorkspaceThereIsNothingAndNoError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	app := b.as("cairn_app")
	nothing := func(when string) {
		for _, table := range append(b.tenantTables(), "workspaces") {
			if n := app.number("select count(*) from " + table); n != 0 {
				t.Errorf("%s: %s has %d rows", when, table, n)
			}
		}
	}
	nothing("before any workspace was entered")
	app.do("begin")
	app.do("select cairn.enter($1)", b.a.ID)
	if n := app.number("select count(*) from skills"); n != 1 {
		t.Fatalf("%d skills in the workspace", n)
	}
	app.do("commit")
	if n := app.number(
		"select count(*) from (select current_setting('cairn.workspace', true) s) x where s = ''"); n != 1 {
		t.Error("the setting is not empty after its transaction: the trap this test is about has gone")
	}
	nothing("after the workspace was left")
}

func TestAConnectionNeverCarriesAWorkspaceToTheNextBorrower(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *store.Options) { o.MaxConns = 1 })
	b.seed(b.a)
	ctx := t.Context()
	enter := func(ctx context.Context, fn func() error) error {
		return b.InWorkspace(ctx, b.a.ID, func(context.Context, store.Tx) error { return fn() })
	}
	cancelled, cancel := context.WithCancel(ctx)
	for name, borrow := range map[string]func(){
		"a commit": func() { testkit.Must(t, enter(ctx, func() error { return nil })) },
		"an error": func() { _ = enter(ctx, func() error { return errors.New("no") }) },
		"a panic": func() {
			defer func() { _ = recover() }()
			_ = enter(ctx, func() error { panic("no") })
		},
		"a failed statement": func() {
			_ = b.InWorkspace(ctx, b.a.ID, func(ctx context.Context, q store.Tx) error {
				return q.Astray(b.b.ID).Outbox().Enqueue(ctx, outbox.DriveRun, "1", 0)
			})
		},
		"a cancellation": func() { _ = enter(cancelled, func() error { cancel(); return nil }) },
	} {
		borrow()
		conn, err := b.AppPool().Acquire(ctx)
		if err != nil {
			t.Fatalf("after %s the pool has no connection: %v", name, err)
		}
		var setting string
		var rows int
		tx, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: store.InRole("cairn_app")})
		testkit.Must(t, err)
		err = tx.QueryRow(ctx, "select coalesce(current_setting('cairn.workspace', true), ''), (select count(*) "+
			"from skills)").Scan(&setting, &rows)
		if err != nil || setting != "" || rows != 0 {
			t.Errorf("after %s the next borrower has workspace %q and sees %d skills, %v", name, setting, rows, err)
		}
		testkit.Must(t, tx.Rollback(ctx))
		if status := conn.Conn().PgConn().TxStatus(); status != 'I' {
			t.Errorf("after %s the connection is in transaction state %c", name, status)
		}
		conn.Release()
	}
}

func TestASavepointKeepsTheWorkspace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	app := b.as("cairn_app")
	app.do("begin")
	app.do("select cairn.enter($1)", b.a.ID)
	app.do("savepoint s")
	app.refuses("42501", "insert into outbox (workspace_id, kind, key) values ($1, 'drive', '9')", b.b.ID)
	app.do("rollback to savepoint s")
	if n := app.number("select count(*) from skills"); n != 1 {
		t.Errorf("%d skills after the savepoint was rolled back, want 1", n)
	}
}

func TestRowsOfAnotherWorkspaceCannotBeTouched(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	b.seed(b.b)
	app := b.as("cairn_app")
	for _, table := range b.tenantTables() {
		for _, change := range []string{"delete from %[1]s where workspace_id = $1",
			"update %[1]s set %[2]s = %[2]s where workspace_id = $1"} {
			column := b.texts(`select coalesce(min(column_name), '') from information_schema.column_privileges
where grantee = 'cairn_app' and privilege_type = 'UPDATE' and table_schema = 'cairn' and table_name = $1`, table)[0]
			if column == "" {
				column = "workspace_id" // not granted: refused below
			}
			app.do("begin")
			app.do("select cairn.enter($1)", b.a.ID)
			tag, err := app.conn.Exec(t.Context(), fmt.Sprintf(change, table, column), b.b.ID)
			if state := sqlState(err); err != nil && state != "42501" {
				t.Errorf("%s: %v", change, err)
			}
			if tag.RowsAffected() != 0 {
				t.Errorf("%s: touched %d rows of another workspace", fmt.Sprintf(change, table, column),
					tag.RowsAffected())
			}
			app.do("rollback")
		}
	}
	b.in(b.a, func(ctx context.Context, q store.Tx) error {
		return q.Astray(b.b.ID).Outbox().Settle(ctx, outbox.DriveRun, "1")
	})
	if n := b.number("select count(*) from outbox where workspace_id = $1", b.b.ID); n != 1 {
		t.Errorf("the other workspace has %d duties left, want 1", n)
	}
}

func TestAnInsertForAnotherWorkspaceIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.b)
	before := b.number("select count(*) from outbox")
	err := b.InWorkspace(t.Context(), b.a.ID, func(_ context.Context, q store.Tx) error {
		return q.Astray(b.b.ID).Outbox().Enqueue(t.Context(), outbox.EmbedDoc, "1", 0)
	})
	if sqlState(err) != "42501" || fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("code %s, %v; want %s for 42501", fault.CodeOf(err), err, fault.Unavailable)
	}
	// A row cannot be moved to another workspace, either.
	app := b.as("cairn_app")
	app.do("begin")
	app.do("select cairn.enter($1)", b.b.ID)
	app.refuses("42501", "update outbox set workspace_id = $1", b.a.ID)
	app.do("rollback")
	if n := b.number("select count(*) from outbox"); n != before {
		t.Errorf("%d duties, want %d", n, before)
	}
}

func TestBulkWaysAroundThePoliciesAreClosed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	app := b.as("cairn_app")
	for _, table := range append(b.tenantTables(), "workspaces", "embedding_spaces") {
		app.refuses("42501", "truncate "+table+" cascade")
	}
	app.refuses("0A000", "copy outbox (workspace_id, kind, key) from stdin") // not supported with row-level security
	app.refuses("42501", "delete from workspaces")                           // its cascade would bypass all policies
	var out strings.Builder
	if _, err := app.conn.PgConn().CopyTo(t.Context(), &out, "copy messages to stdout"); err != nil || out.Len() != 0 {
		t.Errorf("outside a workspace copy gives %q, %v", out.String(), err)
	}
	app.do("set row_security = off") // as pg_dump does
	app.refuses("42501", "select * from messages")
}
