package memory_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/lab/pgtest"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/search"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// promptDB is the database of a test; the name keeps the embedded field apart from Service.Store.
type promptDB = pgtest.Store

// bundle is the service over a new database with two workspaces.
type bundle struct {
	*memories.PromptService
	*promptDB
	t *testing.T
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, promptDB: pgtest.Open(t)}
	embedder := embedding.Hashing(embedding.DefaultDims)
	space, err := b.promptDB.Space(t.Context(), embedder.Model(), embedder.Dims())
	testkit.Must(t, err)
	b.PromptService = &memories.PromptService{PromptPorts: memories.PromptPorts{Store: b.promptDB.Store,
		Embedder: embedder, Space: space,
		Finder: search.Finder{Index: b.SearchIndex(), Embedder: embedder, Space: space, MinCosine: 0.35}}}
	return b
}

// in returns the actor of a call of the run.
func in(a agent.Actor, run string) agent.Actor {
	a.Run = run
	return a
}

// save adds an entry as a user, and requires that it is added.
func (b *bundle) save(store, content string) string {
	b.t.Helper()
	out, err := b.Save(b.t.Context(), b.User(), memories.SaveArgs{Content: content, Store: store})
	testkit.Must(b.t, err)
	if out.Action != memories.Added || len(out.IDs) != 1 {
		b.t.Fatalf("save %q: %+v", content, out)
	}
	return out.IDs[0]
}

// says returns the memories of the first workspace, one entry per line.
func (b *bundle) says() string {
	b.t.Helper()
	return b.saysIn(b.A)
}

func (b *bundle) saysIn(ws access.Workspace) string {
	b.t.Helper()
	out, err := b.List(b.t.Context(), agent.Actor{Workspace: ws.ID, Origin: agent.OriginUser}, memories.ListArgs{})
	testkit.Must(b.t, err)
	var lines []string
	for _, e := range out.Entries {
		lines = append(lines, string(e.Type)+": "+e.Content)
	}
	return strings.Join(lines, "\n")
}

// promptWants compares an error's code; the empty code is success.
func promptWants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("%s: %v, want %q", what, err, code)
	}
}

// rows counts the rows that a write can create.
func (b *bundle) rows() string {
	b.t.Helper()
	return b.Rows("memories", "memory_revisions", "pending_memories", "soul_versions", "search_docs", "lex_docs",
		"embeddings",
		"outbox", "tool_op_log")
}

// promptLosing returns the store with every answer lost after the commit.
func promptLosing(s *store.Store) *store.Store {
	return s.Intercept(func(_ context.Context, run func() error) error {
		if err := run(); err != nil {
			return err
		}
		return errPromptLost
	})
}

var errPromptLost = errors.New("the connection broke after the commit")

// down is an embedder that always fails.
type down struct{ asked *atomic.Int64 }

func (d down) Embed(context.Context, []string) ([][]float32, error) {
	if d.asked != nil {
		d.asked.Add(1)
	}
	return nil, errors.New("no answer")
}

var operations = []memory.Operation{{Op: memory.Add, Content: "Deploys on Fridays are forbidden"},
	{Op: memory.Replace, Match: "staging", Content: "The staging host is quartz-2"},
	{Op: memory.Remove, Match: "intern"}}
