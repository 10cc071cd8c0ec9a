package inspect_test

import (
	"errors"
	"fmt"
	"testing"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/fault"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/inspect"
	"cairn/internal/testkit"
)

func TestExportReadsEachEventOnceInPages(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	s := inspect.NewAudit(inspect.AuditPorts{Store: db.Audit()})
	const n = 1001 // two pages and one
	_, err := db.Admin.Exec(t.Context(), `insert into cairn.audit_events (workspace_id, action, object, actor)
		select $1, 'key.create', 'key ' || i, 'system' from generate_series(1, $2::int) i`, db.A.ID, n)
	testkit.Must(t, err)
	next := n
	testkit.Must(t, s.Export(t.Context(), db.A.ID, audit.Filter{}, func(e audit.Event) error {
		if e.Object != fmt.Sprintf("key %d", next) {
			t.Fatalf("%+v, want key %d", e, next)
		}
		next--
		return nil
	}))
	if next != 0 {
		t.Errorf("%d events are missing", next)
	}
	full, calls := errors.New("full"), 0
	if err := s.Export(t.Context(), db.A.ID, audit.Filter{}, func(audit.Event) error {
		calls++
		return full
	}); !errors.Is(err, full) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
	testkit.Must(t, s.Export(t.Context(), db.B.ID, audit.Filter{}, func(e audit.Event) error {
		return fmt.Errorf("the other workspace has %+v", e)
	}))
	err = s.Export(t.Context(), 999_999, audit.Filter{}, func(audit.Event) error { return nil })
	if fault.CodeOf(err) != fault.NotFound {
		t.Errorf("an unknown workspace: %v", err)
	}
}

func TestActsOfOperatorsAreRecordedWithTheirActor(t *testing.T) {
	t.Parallel()
	db := pgtest.Open(t)
	s := inspect.NewAudit(inspect.AuditPorts{Store: db.Audit()})
	ctx := audit.With(t.Context(), audit.Actor{Kind: audit.CLI, Account: "a\x00da", Request: "r", Address: "192.0.2.1"})
	for range 2 { // two acts
		testkit.Must(t, s.RecordOperator(ctx, audit.CodecDecode, "payloads of workflows"))
	}
	all, err := s.List(t.Context(), 0, audit.Filter{Action: audit.CodecDecode}, 3)
	if err != nil || len(all) != 2 || all[0].Actor != (audit.Author{Kind: audit.CLI, Name: "a\uFFFDda"}) ||
		all[0].Request != "r" || all[0].Address != "192.0.2.1" {
		t.Errorf("%+v, %v", all, err)
	}
}
