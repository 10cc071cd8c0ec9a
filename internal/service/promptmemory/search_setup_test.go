package promptmemory_test

import (
	"context"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/longterm"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// long is a bundle with long-term memory, which search also finds.
type long struct {
	*bundle
	*longterm.Service
}

func setupLong(t *testing.T) *long {
	t.Helper()
	b := setup(t)
	return &long{b, &longterm.Service{Ports: longterm.Ports{Store: b.db.Store, Embedder: b.Service.Embedder,
		Space:  b.Service.Space,
		Finder: b.Service.Finder}}}
}

// about returns the actor of a specialist's call for a target, in a run and a session.
func (l *long) about(t memory.Type, target, run, history string) agent.Actor {
	a := l.Actor(agent.OriginReflection)
	a.Run = run
	a.Subject = agent.MemoryScope{Type: string(t), Target: target, History: history, Author: "m@1"}
	return a
}

// add adds memories and returns the result of each.
func (l *long) add(a agent.Actor, contents ...string) []longterm.ItemResult {
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
