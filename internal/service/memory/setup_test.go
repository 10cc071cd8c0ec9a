package memory_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/search"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// db is the database of a test; the name keeps the embedded field apart from Service.Store.
type db = pgtest.Store

// long is the service over a new database.
type long struct {
	*memories.LongTermService
	*db
	t *testing.T
}

func setupLong(t *testing.T) *long {
	t.Helper()
	l := &long{t: t, db: pgtest.Open(t)}
	embedder := embedding.Hashing(embedding.DefaultDims)
	space, err := l.db.Space(t.Context(), embedder.Model(), embedder.Dims())
	testkit.Must(t, err)
	l.LongTermService = &memories.LongTermService{Ports: memories.Ports{Store: l.db.Store, Embedder: embedder,
		Space:  space,
		Finder: search.Finder{Index: l.SearchIndex(), Embedder: embedder, Space: space, MinCosine: 0.35}}}
	return l
}

// about returns the actor of a specialist's call for a target, in a run and a session.
func (l *long) about(t memory.Type, target, run, history string) agent.Actor {
	a := l.Actor(agent.OriginReflection)
	a.Run = run
	a.Subject = agent.MemoryScope{Type: string(t), Target: target, History: history, Author: "m@1"}
	return a
}

// add adds memories and returns the result of each.
func (l *long) add(a agent.Actor, contents ...string) []memories.ItemResult {
	l.t.Helper()
	var in []memories.NewMemory
	for i, c := range contents {
		in = append(in, memories.NewMemory{Index: i, Content: c})
	}
	out, err := l.AddMemories(l.t.Context(), a, in)
	testkit.Must(l.t, err)
	return out
}

func (l *long) entry(id string) (e memory.Entry) {
	l.t.Helper()
	testkit.Must(l.t, l.db.Store.InWorkspace(l.t.Context(), l.A.ID,
		func(ctx context.Context, tx store.Tx) error {
			found, err := tx.LongTerm().LongTerm(l.t.Context(), []string{id})
			if err == nil && len(found) == 1 {
				e = found[0]
			}
			return err
		}))
	return e
}

// holds returns every active long-term entry of the first workspace, and the targets.
func (l *long) holds() string {
	l.t.Helper()
	var lines []string
	rows, err := l.Admin.Query(l.t.Context(), `select type || '/' || target || ' ' || when_to_use || ': ' || `+
		`content || ' ' || metadata::text || ' ' || targets::text ||
 (select coalesce(string_agg(r.history_id, ',' order by r.history_id), '') from memory_refs r where r.workspace_id `+
		`= m.workspace_id and r.memory_id = m.id) || ' ' || m.created_at::text || ' ' || m.external_id
from memories m where workspace_id = $1 and status = 'active' and type not in ('core', 'profile')
union all select 'target ' || type || '/' || target_key from memory_targets where workspace_id = $1
union all select 'identity ' || v.content from workspaces w join identity_versions v on v.workspace_id = w.id and `+
		`v.version = w.identity_version where w.id = $1 order by 1`, l.A.ID)
	testkit.Must(l.t, err)
	defer rows.Close()
	for rows.Next() {
		var line string
		testkit.Must(l.t, rows.Scan(&line))
		lines = append(lines, line)
	}
	testkit.Must(l.t, rows.Err())
	return strings.Join(lines, "\n")
}

// session stores a session of a few lines and returns its ID.
func (l *long) session(lines ...string) string {
	l.t.Helper()
	h, err := l.AddHistory(l.t.Context(), l.Actor(agent.OriginReflection), dialog(lines...))
	testkit.Must(l.t, err)
	return h.ID
}

// dialog returns alternating messages of a user and an assistant.
func dialog(lines ...string) (out []transcript.Message) {
	for i, line := range lines {
		role := transcript.User
		if i%2 == 1 {
			role = transcript.Assistant
		}
		out = append(out, transcript.Message{Seq: i, Role: role, Content: line})
	}
	return out
}

func (l *long) lines(a agent.Actor, in memories.RetrieveArgs) string {
	l.t.Helper()
	out, err := l.Retrieve(l.t.Context(), a, in)
	testkit.Must(l.t, err)
	return out.Text
}

func statuses(items []memories.ItemResult) string {
	var out []string
	for _, i := range items {
		s := i.Status
		if i.Code != "" {
			s += "/" + string(i.Code)
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// losing returns the store with every answer lost after the commit.
func losing(s *store.Store) *store.Store {
	return s.Intercept(func(_ context.Context, run func() error) error {
		if err := run(); err != nil {
			return err
		}
		return errLost
	})
}

// longRows counts the rows that a call can write.
func (l *long) longRows() string {
	l.t.Helper()
	return l.Rows("memories", "memory_revisions", "pending_memories", "soul_versions", "search_docs", "lex_docs",
		"embeddings",
		"outbox", "tool_op_log", "memory_targets", "memory_histories", "history_chunks", "memory_refs",
		"identity_versions",
		"conversations", "messages")
}

var errLost = errors.New("the connection broke after the commit")

// wants compares an error's code; the empty code is success.
func wants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("%s: %v, want %q", what, err, code)
	}
}

// save stores an entry in prompt memory, which long-term memory must not change.
func (l *long) save(store, content string) string {
	l.t.Helper()
	prompt := &memories.PromptService{PromptPorts: memories.PromptPorts{Store: l.db.Store, Embedder: l.Embedder,
		Space: l.LongTermService.Space, Finder: l.Finder}}
	out, err := prompt.Save(l.t.Context(), l.User(), memories.SaveArgs{Content: content, Store: store})
	testkit.Must(l.t, err)
	return out.IDs[0]
}
