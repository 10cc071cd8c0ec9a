package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"cairn/internal/domain/access"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// bundle is a ledger over a fresh database, with one run.
type bundle struct {
	*ledger.Ledger
	t     *testing.T
	store *store.Store
	admin *pgxpool.Pool
	ws    access.Workspace
	run   run.Ref
	model *model
}

// lease is short to test its expiry, and long enough for a busy machine to renew it in time.
const lease = 500 * time.Millisecond

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, model: &model{}}
	url := pgtest.Database(t)
	var err error
	b.store, err = store.Open(t.Context(), url, store.Options{MaxConns: 8})
	testkit.Must(t, err)
	t.Cleanup(b.store.Close)
	c, err := pgxpool.ParseConfig(url)
	testkit.Must(t, err)
	c.ConnConfig.RuntimeParams["search_path"] = "cairn, public"
	b.admin, err = pgxpool.NewWithConfig(t.Context(), c)
	testkit.Must(t, err)
	t.Cleanup(b.admin.Close)
	b.ws, err = b.store.Workspace(t.Context(), "test", true)
	testkit.Must(t, err)
	b.run = b.newRun("first")
	b.Ledger = &ledger.Ledger{Ports: ledger.Ports{Store: b.store, Model: b.model,
		Prices: llm.Prices{"priced": {InputMicros: 1_000_000, OutputMicros: 1_000_000}}, Lease: lease,
		StoreRetryFor: 20 * time.Second}}
	return b
}

func (b *bundle) newRun(key string) run.Ref {
	b.t.Helper()
	r, _, err := b.store.Accept(b.t.Context(),
		distillation.AcceptedRequest{Workspace: b.ws.ID, Key: key, Spec: []byte("{}"), Channel: "import",
			Conversation: transcript.Conversation{ID: key,
				Messages: []transcript.Message{{Role: transcript.User, Content: "x"}}},
			WorkflowID: func(int, int) string { return key }})
	testkit.Must(b.t, err)
	return r.Ref
}

// ask calls step with a request that says what.
func (b *bundle) ask(ctx context.Context, step, what string, change ...func(*llm.Request)) (llm.Reply, error) {
	r := llm.Request{Model: "scripted", Messages: llm.User(what), MaxTokens: 100,
		Label: llm.Label{Stage: "test", Task: step}}
	for _, f := range change {
		f(&r)
	}
	return b.Call(ctx, run.CallKey{Ref: b.run, Step: step}, r, 0)
}

// row is the ledger's row of a step's first round.
func (b *bundle) row(step string) run.Call {
	b.t.Helper()
	var out run.Call
	testkit.Must(b.t, b.store.InWorkspace(b.t.Context(), b.ws.ID, func(_ context.Context, q store.Tx) error {
		calls, err := q.Calls().Calls(b.t.Context(), b.run)
		for _, c := range calls {
			if c.Key.Step == step && c.Key.Round == 0 {
				out = c
			}
		}
		return err
	}))
	return out
}

// number is what the superuser reads.
func (b *bundle) number(sql string, args ...any) (n int) {
	b.t.Helper()
	if err := b.admin.QueryRow(b.t.Context(), sql, args...).Scan(&n); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// untilExpired waits for the end of a step's lease.
func (b *bundle) untilExpired(step string) {
	b.t.Helper()
	until(b.t, "the end of a lease", func() bool {
		return b.number("select count(*) from llm_calls where step = $1 and state = 'started' and lease_until <= now()",
			step) == 1
	})
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// model is a llm.Model made of one function. Prepare spells the request out, so
// that tests read in the bytes what was asked.
type model struct {
	mu   sync.Mutex
	send func(ctx context.Context, n int, body string) (llm.Reply, error) // n-th request, from 1
	sent []string
}

func (m *model) Prepare(r llm.Request) (llm.PreparedRequest, error) {
	body, err := json.Marshal(map[string]any{"user": r.Messages[0].Content, "schema": r.Schema != nil})
	return llm.PreparedRequest{Model: r.Model, Body: body, Label: r.Label}, err
}

func (m *model) Send(ctx context.Context, p llm.PreparedRequest) (llm.Reply, error) {
	m.mu.Lock()
	m.sent = append(m.sent, string(p.Body))
	n, send := len(m.sent), m.send
	m.mu.Unlock()
	if send == nil {
		return said(fmt.Sprintf("reply %d", n)), nil
	}
	return send(ctx, n, string(p.Body))
}

// answers makes the model answer so from now on.
func (m *model) answers(send func(ctx context.Context, n int, body string) (llm.Reply, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.send = send
}

// requests are the bodies that were sent.
func (m *model) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string{}, m.sent...)
}

func said(text string) llm.Reply {
	return llm.Reply{Text: text, Finish: "stop", Model: "scripted", Usage: llm.Usage{Input: 10, Output: 5}}
}

// busy returns the BusyError.
func busy(err error) *ledger.BusyError {
	var e *ledger.BusyError
	errors.As(err, &e)
	return e
}
