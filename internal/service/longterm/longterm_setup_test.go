package longterm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/longterm"
	"cairn/internal/testkit"
)

// long is long-term memory over a fresh database.
type long struct {
	*bundle
	*longterm.LongTerm
}

func setupLong(t *testing.T) *long {
	t.Helper()
	b := setup(t)
	return &long{b, &longterm.LongTerm{Store: b.store.LongTerm(), Embedder: b.Keeper.Embedder, Space: b.Keeper.Space, Finder: b.Keeper.Finder}}
}

// about is a specialist's call for a target, in a run and a session.
func (l *long) about(t memory.Type, target string, run int64, history string) agent.Actor {
	a := l.actor(agent.OriginReflection)
	a.Run = run
	a.Subject = agent.Subject{Type: string(t), Target: target, History: history, Author: "m@1"}
	return a
}

// add adds memories and gives what became of each.
func (l *long) add(a agent.Actor, contents ...string) []longterm.Item {
	l.t.Helper()
	var in []longterm.NewMemory
	for i, c := range contents {
		in = append(in, longterm.NewMemory{Index: i, Content: c})
	}
	out, err := l.AddMemories(l.t.Context(), a, in)
	testkit.Must(l.t, err)
	return out
}

func (l *long) entry(id string) (e memory.Entry) {
	l.t.Helper()
	testkit.Must(l.t, l.LongTerm.Store.WithLongTerm(l.t.Context(), l.a.ID, func(_ context.Context, tx longterm.LongTermTx) error {
		found, err := tx.Memories().LongTerm(l.t.Context(), []string{id})
		if err == nil && len(found) == 1 {
			e = found[0]
		}
		return err
	}))
	return e
}

// holds is every active long-term entry of the first workspace, and the targets.
func (l *long) holds() string {
	l.t.Helper()
	var lines []string
	rows, err := l.admin.Query(l.t.Context(), `select type || '/' || target || ' ' || when_to_use || ': ' || content || ' ' || metadata::text || ' ' || targets::text ||
 (select coalesce(string_agg(r.history_id, ',' order by r.history_id), '') from memory_refs r where r.workspace_id = m.workspace_id and r.memory_id = m.id) || ' ' || m.created_at::text || ' ' || m.external_id
from memories m where workspace_id = $1 and status = 'active' and type not in ('core', 'profile')
union all select 'target ' || type || '/' || target_key from memory_targets where workspace_id = $1
union all select 'identity ' || v.content from workspaces w join identity_versions v on v.workspace_id = w.id and v.version = w.identity_version where w.id = $1 order by 1`, l.a.ID)
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

// session keeps a session of a few lines and gives its id.
func (l *long) session(lines ...string) string {
	l.t.Helper()
	h, err := l.AddHistory(l.t.Context(), l.actor(agent.OriginReflection), said(lines...))
	testkit.Must(l.t, err)
	return h.ID
}

// said is messages of a user and an assistant in turns.
func said(lines ...string) (out []transcript.Message) {
	for i, line := range lines {
		role := transcript.User
		if i%2 == 1 {
			role = transcript.Assistant
		}
		out = append(out, transcript.Message{Seq: i, Role: role, Content: line})
	}
	return out
}

func (l *long) lines(a agent.Actor, in longterm.RetrieveArgs) string {
	l.t.Helper()
	out, err := l.Retrieve(l.t.Context(), a, in)
	testkit.Must(l.t, err)
	return out.Text
}

func statuses(items []longterm.Item) string {
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

// lostLong is a store whose commits arrive and whose acknowledgements do not.
type lostLong struct{ longterm.LongTermStore }

func (l lostLong) WithLongTerm(ctx context.Context, ws int64, fn func(context.Context, longterm.LongTermTx) error) error {
	if err := l.LongTermStore.WithLongTerm(ctx, ws, fn); err != nil {
		return err
	}
	return errLost
}

// longRows counts all that a call may leave behind.
func (l *long) longRows() string {
	l.t.Helper()
	out := l.rows()
	for _, table := range []string{"memory_targets", "memory_histories", "history_chunks", "memory_refs", "identity_versions", "conversations", "messages"} {
		out += fmt.Sprintf(", %s %d", table, l.number("select count(*) from "+table))
	}
	return out
}
