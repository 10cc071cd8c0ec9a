package longterm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"cairn/internal/adapter/embedding"
	"cairn/internal/adapter/postgres"
	"cairn/internal/adapter/postgres/pgtest"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/settings"
	"cairn/internal/service/longterm"
	"cairn/internal/service/search"
	"cairn/internal/testkit"
)

// bundle is a keeper over a fresh database with two workspaces.
type bundle struct {
	*longterm.Keeper
	t     *testing.T
	store *postgres.Store
	admin *pgxpool.Pool // superuser: sees everything
	a, b  postgres.Workspace
	ops   atomic.Int64
}

func setup(t *testing.T) *bundle {
	t.Helper()
	url := pgtest.Database(t)
	b := &bundle{t: t}
	var err error
	b.store, err = postgres.Open(t.Context(), url, postgres.Options{MaxConns: 8})
	testkit.Must(t, err)
	t.Cleanup(b.store.Close)
	c, err := pgxpool.ParseConfig(url)
	testkit.Must(t, err)
	c.ConnConfig.RuntimeParams["search_path"] = "cairn, public"
	b.admin, err = pgxpool.NewWithConfig(t.Context(), c)
	testkit.Must(t, err)
	t.Cleanup(b.admin.Close)
	b.a, err = b.store.Workspace(t.Context(), "a", true)
	testkit.Must(t, err)
	b.b, err = b.store.Workspace(t.Context(), "b", true)
	testkit.Must(t, err)
	embedder := embedding.Hashing(embedding.DefaultDims)
	space, err := b.store.Space(t.Context(), embedder.Model(), embedder.Dims())
	testkit.Must(t, err)
	b.Keeper = &longterm.Keeper{Store: b.store.Memory(), Embedder: embedder, Space: space,
		Finder: search.Finder{Index: b.store.SearchIndex(), Embedder: embedder, Space: space, MinCosine: 0.35}}
	return b
}

// actor is a caller in the first workspace with an operation of its own.
func (b *bundle) actor(o agent.Origin) agent.Actor {
	return agent.Actor{Workspace: b.a.ID, Origin: o, Op: fmt.Sprintf("test/%d", b.ops.Add(1))}
}

func (b *bundle) user() agent.Actor { return b.actor(agent.OriginUser) }

// in is a call of the actor's run.
func in(a agent.Actor, run int64) agent.Actor {
	a.Run = run
	return a
}

// run makes a run for autonomous writers to work in.
func (b *bundle) run() int64 {
	b.t.Helper()
	return int64(b.number("insert into runs (workspace_id, kind, business_key, args_sha, spec, workflow_id) values ($1, 'distill', $2, 'x', '{}', 'w') returning id",
		b.a.ID, fmt.Sprintf("run-%d", b.ops.Add(1))))
}

// save adds an entry as a person, and wants it added.
func (b *bundle) save(store, content string) string {
	b.t.Helper()
	out, err := b.Save(b.t.Context(), b.user(), longterm.SaveArgs{Content: content, Store: store})
	testkit.Must(b.t, err)
	if out.Action != longterm.Added || len(out.IDs) != 1 {
		b.t.Fatalf("save %q: %+v", content, out)
	}
	return out.IDs[0]
}

// says is what the first workspace remembers, one entry a line.
func (b *bundle) says() string {
	b.t.Helper()
	return b.saysIn(b.a)
}

func (b *bundle) saysIn(ws postgres.Workspace) string {
	b.t.Helper()
	out, err := b.List(b.t.Context(), agent.Actor{Workspace: ws.ID, Origin: agent.OriginUser}, longterm.ListArgs{})
	testkit.Must(b.t, err)
	var lines []string
	for _, e := range out.Entries {
		lines = append(lines, string(e.Type)+": "+e.Content)
	}
	return strings.Join(lines, "\n")
}

func (b *bundle) choose(change func(*settings.Settings)) {
	b.t.Helper()
	testkit.Must(b.t, b.store.InWorkspace(b.t.Context(), b.a.ID, func(_ context.Context, q postgres.Tx) error {
		s, err := q.Workspaces().Settings(b.t.Context())
		if err != nil {
			return err
		}
		change(&s)
		return q.Workspaces().SetSettings(b.t.Context(), s)
	}))
}

// number is what the superuser reads.
func (b *bundle) number(sql string, args ...any) (n int) {
	b.t.Helper()
	if err := b.admin.QueryRow(b.t.Context(), sql, args...).Scan(&n); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (b *bundle) exec(sql string, args ...any) {
	b.t.Helper()
	if _, err := b.admin.Exec(b.t.Context(), sql, args...); err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
}

// wants compares an error's code; the empty code is success.
func wants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("%s: %v, want %q", what, err, code)
	}
}

// rows counts all that a write may leave behind.
func (b *bundle) rows() string {
	b.t.Helper()
	var out []string
	for _, table := range []string{"memories", "memory_revisions", "pending_memories", "soul_versions", "search_docs", "lex_postings", "embeddings", "outbox", "tool_op_log"} {
		out = append(out, fmt.Sprintf("%s %d", table, b.number("select count(*) from "+table)))
	}
	return strings.Join(out, ", ")
}

// lossy is a store whose commits arrive and whose acknowledgements do not.
type lossy struct{ longterm.Store }

var errLost = errors.New("the connection broke after the commit")

func (l lossy) WithMemory(ctx context.Context, ws int64, fn func(context.Context, longterm.Tx) error) error {
	if err := l.Store.WithMemory(ctx, ws, fn); err != nil {
		return err
	}
	return errLost
}

// down is an embedder that does not answer.
type down struct{ asked *atomic.Int64 }

func (d down) Embed(context.Context, []string) ([][]float32, error) {
	if d.asked != nil {
		d.asked.Add(1)
	}
	return nil, errors.New("no answer")
}

var operations = []memory.Operation{{Op: memory.Add, Content: "Deploys on Fridays are forbidden"}, {Op: memory.Replace, Match: "staging", Content: "The staging host is quartz-2"}, {Op: memory.Remove, Match: "intern"}}
