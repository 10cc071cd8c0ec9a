package store_test

import (
	"fmt"
	"testing"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/erasure"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// No role changes an event, and only the erasure of a workspace deletes its events. The roles that serve
// requests have no right to do so; the others have no policy.
func TestAuditEventsCanOnlyBeAdded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	b.seed(b.b)
	system := audit.With(t.Context(), audit.Actor{Kind: audit.CLI, Account: "ada"})
	testkit.Must(t, b.Audit().RecordOperator(system, audit.CodecDecode, "payloads of workflows"))
	before := b.texts("select e::text from audit_events e order by id")
	for _, role := range []string{"cairn_app", "cairn_system", "cairn_owner", "cairn_erase", "cairn_index"} {
		for _, statement := range []string{"update audit_events set object = 'nothing'", "delete from audit_events"} {
			s := b.as(role)
			s.do("begin")
			if role == "cairn_app" {
				s.do("select cairn.enter($1)", b.a.ID)
			}
			tag, err := s.conn.Exec(t.Context(), statement)
			if err == nil && tag.RowsAffected() > 0 {
				t.Errorf("%s: %s: %d rows", role, statement, tag.RowsAffected())
			}
			if (role == "cairn_app" || role == "cairn_system") && err == nil {
				t.Errorf("%s may %s", role, statement)
			}
			s.do("rollback")
		}
	}
	if after := b.texts("select e::text from audit_events e order by id"); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the events were %q, and are %q", before, after)
	}
	e := b.erase(erasure.Target{Workspace: b.a.ID, Derived: erasure.Keep})
	if n := b.number("select count(*) from audit_events where workspace_id = $1", b.a.ID); n != 0 ||
		e.Deleted["audit_events"] != 1 {
		t.Errorf("%d events of the erased workspace are left, %d were deleted", n, e.Deleted["audit_events"])
	}
	if n := b.number("select count(*) from audit_events where workspace_id = $1", b.b.ID); n != 1 {
		t.Errorf("%d events of the other workspace are left", n)
	}
	if n := b.number(
		"select count(*) from audit_events where workspace_id is null and action <> 'schema.migrate'",
	); n != 2 {
		t.Errorf("%d events of operators are left", n)
	}
}

// The role of the system sees and writes events of operators, and those of the workspace that it has entered.
func TestTheSystemSeesEventsOfOperatorsOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.seed(b.a)
	b.seed(b.b)
	system := b.as("cairn_system")
	if n := system.number("select count(*) from audit_events where workspace_id is not null"); n != 0 {
		t.Errorf("it sees %d events of workspaces", n)
	}
	const add = "insert into audit_events (workspace_id, action, object, actor) values ($1, 'x', 'y', 'system')"
	if _, err := system.conn.Exec(t.Context(), add, b.a.ID); err == nil {
		t.Error("it writes an event of a workspace")
	}
	app := b.as("cairn_app")
	app.do("begin")
	app.do("select cairn.enter($1)", b.a.ID)
	if _, err := app.conn.Exec(t.Context(), add, b.b.ID); err == nil {
		t.Error("a workspace writes an event of another one")
	}
	app.do("rollback")
	app.do("begin")
	app.do("select cairn.enter($1)", b.a.ID)
	if _, err := app.conn.Exec(t.Context(), add, nil); err == nil {
		t.Error("a workspace writes an event of operators")
	}
}

// A migration is recorded in its own transaction, with the account that ran it.
func TestAMigrationIsRecorded(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := setup(t)
	url := b.empty()
	ctx := audit.With(t.Context(), audit.Actor{Kind: audit.CLI, Account: "ada"})
	applied, err := store.Migrate(ctx, url)
	testkit.Must(t, err)
	_, err = store.Migrate(ctx, url)
	testkit.Must(t, err)
	s, err := store.Open(t.Context(), url, store.Options{})
	testkit.Must(t, err)
	t.Cleanup(s.Close)
	all, err := s.Audit().AuditEvents(t.Context(), 0, audit.Filter{Action: audit.SchemaMigrate}, 10)
	testkit.Must(t, err)
	want := fmt.Sprintf("version %d", applied[len(applied)-1])
	if len(all) == 0 || all[0].Object != want || all[0].Actor != (audit.Author{Kind: audit.CLI, Name: "ada"}) {
		t.Errorf("%+v, want %s", all, want)
	}
	for _, e := range all[1:] {
		if e.Object == want {
			t.Errorf("the version is recorded twice: %+v", all)
		}
	}
}
