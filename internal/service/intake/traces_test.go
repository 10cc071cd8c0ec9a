package intake_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	format "cairn/internal/domain/transcript/intake"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/intake"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// exported returns the batch of a request with spans of model requests: conversation and texts of its messages. number
// is the number of the first span. If ended, the root span follows.
func exported(t *testing.T, number int, ended bool, conversation string, requests ...[]string) *format.SpanBatch {
	t.Helper()
	const trace = `"traceId":"0102030405060708090a0b0c0d0e0f10"`
	spans := ""
	for i, texts := range requests {
		messages := []any{}
		for k, text := range texts {
			messages = append(messages, map[string]any{"role": []string{"user", "assistant"}[k%2],
				"parts": []any{map[string]any{"type": "text", "content": text}}})
		}
		raw, err := json.Marshal(messages)
		testkit.Must(t, err)
		quoted, err := json.Marshal(string(raw))
		testkit.Must(t, err)
		spans += fmt.Sprintf(`{%s,"spanId":"%016x","parentSpanId":"ff00000000000000","attributes":[`+
			`{"key":"gen_ai.conversation.id","value":{"stringValue":%q}},`+
			`{"key":"gen_ai.input.messages","value":{"stringValue":%s}}]},`, trace, number+i, conversation, quoted)
	}
	parent := "00000000000000aa"
	if ended {
		parent = ""
	}
	spans += fmt.Sprintf(`{%s,"spanId":"ff%014x","parentSpanId":%q}`, trace, number, parent)
	r, err := format.DecodeSpans(format.JSONContent,
		[]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[`+spans+`]}]}]}`))
	testkit.Must(t, err)
	return format.CollectSpans(r)
}

func openTraces(t *testing.T, store store.Traces) *intake.Traces {
	t.Helper()
	traces := intake.NewTraces(intake.TracePorts{Store: store, Idle: 10 * time.Minute,
		Log: slog.New(slog.DiscardHandler)})
	return traces
}

// taskOf is the session and the waiting time of the only task.
func taskOf(t *testing.T, db *pgtest.Store) (session string, wait int) {
	t.Helper()
	if n := db.Number(`select count(*) from outbox where kind = 'trace'`); n != 1 {
		t.Fatalf("%d tasks", n)
	}
	return db.Text(`select key from outbox where kind = 'trace'`),
		db.Number(`select round(extract(epoch from due_at - now()) / 60) from outbox where kind = 'trace'`)
}

// importAll stores the conversations of all imports.
func importAll(t *testing.T, db *pgtest.Store) {
	t.Helper()
	s, _ := open(t, db.Imports())
	all, err := s.List(t.Context(), db.A.ID, 0, 100)
	testkit.Must(t, err)
	for i := range all {
		testkit.Must(t, s.StoreConversations(t.Context(), db.A, all[len(all)-1-i].ID))
	}
}

func TestAConversationIsImportedWhenItsSpansHaveEnded(t *testing.T) {
	db := pgtest.Open(t)
	traces := openTraces(t, db.Traces())
	receive := func(b *format.SpanBatch, want int) {
		t.Helper()
		if n, err := traces.Receive(t.Context(), db.A.ID, b); err != nil || n != want {
			t.Errorf("received %d new spans, %v, want %d", n, err, want)
		}
	}
	first := exported(t, 1, false, "c1", []string{"one"}, []string{"one", "1"})
	receive(first, 2)
	session, wait := taskOf(t, db)
	if wait != 10 || session != hex.EncodeToString(first.Spans[0].Session) {
		t.Errorf("the task of %s is due in %d minutes", session, wait)
	}
	db.Exec(`update outbox set due_at = now() + interval '2 minutes'`)
	receive(first, 0)
	if _, wait := taskOf(t, db); wait != 2 {
		t.Errorf("a repeated request changes the due time to %d minutes", wait)
	}
	receive(exported(t, 3, true, "c1", []string{"one", "1", "two"}), 1)
	if _, wait := taskOf(t, db); wait != 0 {
		t.Errorf("after the root span, the task is due in %d minutes", wait)
	}
	for range 2 {
		testkit.Must(t, traces.Import(t.Context(), db.A.ID, session))
	}
	importAll(t, db)
	receive(first, 0)
	if n := db.Number(`select count(*) from outbox where kind = 'trace'`); n != 0 {
		t.Errorf("%d tasks after the import", n)
	}
	if n := db.Number(`select 100 * (select count(*) from imports) + 10 * (select count(*) from conversations) + ` +
		`(select count(*) from messages)`); n != 113 {
		t.Errorf("imports, conversations and messages: %d, want 113", n)
	}
	receive(exported(t, 4, true, "c1", []string{"one", "1", "two", "2"}), 1)
	testkit.Must(t, traces.Import(t.Context(), db.A.ID, session))
	importAll(t, db)
	if n := db.Number(`select 10 * (select count(*) from conversations) + (select count(*) from messages)`); n != 14 {
		t.Errorf("conversations and messages: %d, want 14", n)
	}
	if n := db.Number(`select count(*) from trace_spans where content is not null`); n != 0 {
		t.Errorf("%d spans keep their content", n)
	}
}

// meanwhile returns traces that call run once between the two transactions of an import: the one that reads spans, and
// the one that marks them as imported.
func meanwhile(t *testing.T, db *pgtest.Store, run func() error) *intake.Traces {
	t.Helper()
	transactions := 0
	return openTraces(t, store.Traces{Store: db.Intercept(func(_ context.Context, transaction func() error) error {
		if transactions++; transactions == 2 {
			if err := run(); err != nil {
				return err
			}
		}
		return transaction()
	})})
}

func TestSpansThatArriveDuringAnImportAreImportedNext(t *testing.T) {
	db := pgtest.Open(t)
	traces := openTraces(t, db.Traces())
	_, err := traces.Receive(t.Context(), db.A.ID, exported(t, 1, false, "c1", []string{"one"}))
	testkit.Must(t, err)
	session, _ := taskOf(t, db)
	importing := meanwhile(t, db, func() error {
		_, err := traces.Receive(t.Context(), db.A.ID, exported(t, 2, false, "c1", []string{"one", "1"}))
		return err
	})
	testkit.Must(t, importing.Import(t.Context(), db.A.ID, session))
	if _, wait := taskOf(t, db); wait != 0 {
		t.Errorf("the next import is due in %d minutes", wait)
	}
	testkit.Must(t, traces.Import(t.Context(), db.A.ID, session))
	importAll(t, db)
	if n := db.Number(`select 10 * (select count(*) from conversations) + (select count(*) from messages)`); n != 12 {
		t.Errorf("conversations and messages: %d, want 12", n)
	}
}

func TestAnInterruptedImportOfATraceIsRepeated(t *testing.T) {
	db := pgtest.Open(t)
	killed := errors.New("killed")
	traces := openTraces(t, db.Traces())
	_, err := traces.Receive(t.Context(), db.A.ID, exported(t, 1, false, "c1", []string{"one"}))
	testkit.Must(t, err)
	session, _ := taskOf(t, db)
	dying := meanwhile(t, db, func() error { return killed })
	if err := dying.Import(t.Context(), db.A.ID, session); !errors.Is(err, killed) {
		t.Errorf("got %v", err)
	}
	taskOf(t, db)
	// Another relay is faster.
	late := meanwhile(t, db, func() error { return traces.Import(t.Context(), db.A.ID, session) })
	testkit.Must(t, late.Import(t.Context(), db.A.ID, session))
	if n := db.Number(`select count(*) from imports`); n != 1 {
		t.Errorf("%d imports", n)
	}
	if err := traces.Import(t.Context(), db.A.ID, "odd"); err == nil {
		t.Error("an invalid task is not reported")
	}
}

func TestOldSpansAreForgottenWhenTheyAreImported(t *testing.T) {
	db := pgtest.Open(t)
	traces := openTraces(t, db.Traces())
	for i, conversation := range []string{"old", "open"} {
		_, err := traces.Receive(t.Context(), db.A.ID, exported(t, i+1, false, conversation, []string{conversation}))
		testkit.Must(t, err)
		if i == 0 {
			session, _ := taskOf(t, db)
			testkit.Must(t, traces.Import(t.Context(), db.A.ID, session))
		}
	}
	db.Exec(`update trace_spans set received_at = now() - interval '8 days'`)
	_, err := traces.Receive(t.Context(), db.A.ID, exported(t, 3, false, "new", []string{"new"}))
	testkit.Must(t, err)
	if n := db.Number(`select count(*) from trace_spans`); n != 2 {
		t.Errorf("%d spans are left, want the open and the new one", n)
	}
}
