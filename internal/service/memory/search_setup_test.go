package memory_test

import (
	"context"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/transcript"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// promptLong is a bundle with long-term memory, which search also finds.
type promptLong struct {
	*bundle
	*memories.LongTermService
}

func promptSetupLong(t *testing.T) *promptLong {
	t.Helper()
	b := setup(t)
	return &promptLong{b, &memories.LongTermService{Ports: memories.Ports{Store: b.promptDB.Store,
		Embedder: b.PromptService.Embedder,
		Space:    b.PromptService.Space,
		Finder:   b.PromptService.Finder}}}
}

// about returns the actor of a specialist's call for a target, in a run and a session.
func (l *promptLong) about(t memory.Type, target, run, history string) agent.Actor {
	a := l.Actor(agent.OriginReflection)
	a.Run = run
	a.Subject = agent.MemoryScope{Type: string(t), Target: target, History: history, Author: "m@1"}
	return a
}

// add adds memories and returns the result of each.
func (l *promptLong) add(a agent.Actor, contents ...string) []memories.ItemResult {
	l.t.Helper()
	var in []memories.NewMemory
	for i, c := range contents {
		in = append(in, memories.NewMemory{Index: i, Content: c})
	}
	out, err := l.AddMemories(l.t.Context(), a, in)
	testkit.Must(l.t, err)
	return out
}

func (l *promptLong) entry(id string) (e memory.Entry) {
	l.t.Helper()
	testkit.Must(l.t, l.promptDB.Store.InWorkspace(l.t.Context(), l.A.ID,
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
func (l *promptLong) session(lines ...string) string {
	l.t.Helper()
	h, err := l.AddHistory(l.t.Context(), l.Actor(agent.OriginReflection), promptDialog(lines...))
	testkit.Must(l.t, err)
	return h.ID
}

// promptDialog returns alternating messages of a user and an assistant.
func promptDialog(lines ...string) (out []transcript.Message) {
	for i, line := range lines {
		role := transcript.User
		if i%2 == 1 {
			role = transcript.Assistant
		}
		out = append(out, transcript.Message{Seq: i, Role: role, Content: line})
	}
	return out
}
