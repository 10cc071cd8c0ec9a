package relay_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/access"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/index"
	"cairn/internal/domain/outbox"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/relay"
	"cairn/internal/service/search"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// bundle is a relay over a fresh database, without Temporal.
type bundle struct {
	*relay.Relay
	t        *testing.T
	admin    *pgxpool.Pool
	Store    *store.Store
	ws       access.Workspace
	embedder *embedder
	removed  *removals
	space    int16
}

func setup(t *testing.T) *bundle {
	t.Helper()
	url := pgtest.Database(t)
	s, err := store.Open(t.Context(), url, store.Options{MaxConns: 10})
	testkit.Must(t, err)
	t.Cleanup(s.Close)
	b := &bundle{t: t, Store: s, admin: connect(t, url), embedder: &embedder{Embedder: embedding.Hashing(8)},
		removed: &removals{}}
	b.ws, err = s.Workspace(t.Context(), "test", true)
	testkit.Must(t, err)
	space, err := s.Space(t.Context(), "hashing", 8)
	testkit.Must(t, err)
	b.space = space
	b.Relay = &relay.Relay{Ports: relay.Ports{Store: s.Outbox(), Pruner: s.Pruner(),
		Spaces: search.OneSpace{ID: space, Embedder: b.embedder},
		Remove: b.removed.remove, Every: time.Millisecond, Stop: time.Minute,
		Grace: time.Minute, Log: slog.New(slog.DiscardHandler)}}
	return b
}

// connect is the superuser's connection.
func connect(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	c, err := pgxpool.ParseConfig(url)
	testkit.Must(t, err)
	c.ConnConfig.RuntimeParams["search_path"] = "cairn, public"
	p, err := pgxpool.NewWithConfig(t.Context(), c)
	testkit.Must(t, err)
	t.Cleanup(p.Close)
	return p
}

func exec(t *testing.T, p *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := p.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func scan[T any](t *testing.T, p *pgxpool.Pool, sql string, args ...any) (v T) {
	t.Helper()
	if err := p.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// in runs fn in the workspace.
func (b *bundle) in(fn func(context.Context, store.Tx) error) {
	b.t.Helper()
	testkit.Must(b.t, b.Store.InWorkspace(b.t.Context(), b.ws.ID, func(_ context.Context, q store.Tx) error {
		return fn(b.t.Context(), q)
	}))
}

// pass runs one pass and returns the number of tasks.
func (b *bundle) pass() int {
	b.t.Helper()
	n, err := b.Pass(b.t.Context())
	testkit.Must(b.t, err)
	return n
}

// due makes every task due.
func (b *bundle) due() { b.t.Helper(); exec(b.t, b.admin, "update outbox set due_at = now()") }

// accept stores a run with its outbox task.
func (b *bundle) accept(key string) run.Run {
	b.t.Helper()
	r, _, err := b.Store.Accept(b.t.Context(),
		distillation.AcceptedRequest{Workspace: b.ws.ID, Key: key, Spec: []byte("{}"), Channel: "import",
			Conversation: transcript.Conversation{ID: key,
				Messages: []transcript.Message{{Role: transcript.User, Content: "x"}}},
			WorkflowID: func(int, int) string { return "distill/" + key }})
	testkit.Must(b.t, err)
	return r
}

// document is a document without a vector.
func (b *bundle) document(owner int64, text string) (doc int64) {
	b.t.Helper()
	b.in(func(ctx context.Context, q store.Tx) (err error) {
		if doc, err = q.Documents().Index(ctx, index.NewDoc(index.KindSkill, owner, "active", text)); err != nil {
			return err
		}
		return q.Outbox().Enqueue(ctx, outbox.EmbedDoc, number(doc), 0)
	})
	return doc
}

// embedder counts what it is asked for, and can be held or down.
type embedder struct {
	embedding.Embedder
	mu    sync.Mutex
	asked map[string]int
	down  bool
	hold  func(text string) // called before the answer
	waits func(ctx context.Context)
}

func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	e.mu.Lock()
	if e.asked == nil {
		e.asked = map[string]int{}
	}
	e.asked[texts[0]]++
	down, hold, waits := e.down, e.hold, e.waits
	e.mu.Unlock()
	if waits != nil {
		waits(ctx)
	}
	if hold != nil {
		hold(texts[0])
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if down {
		return nil, errors.New("the embedder is down")
	}
	return e.Embedder.Embed(ctx, texts)
}

func (e *embedder) set(down bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = down
}

// total is the number of texts that were asked for.
func (e *embedder) total() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.asked)
}

func (e *embedder) count(text string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked[text]
}

// removals are the objects that were deleted.
type removals struct {
	mu   sync.Mutex
	keys []string
	fail string // the key that cannot be deleted
}

func (r *removals) remove(_ context.Context, key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if key == r.fail {
		return errors.New("the object store is down")
	}
	r.keys = append(r.keys, key)
	return nil
}

func (r *removals) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.keys...)
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
