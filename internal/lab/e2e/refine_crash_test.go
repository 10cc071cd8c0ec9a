package e2e_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"cairn/internal/app"
	"cairn/internal/domain/agent"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/memory"
	"cairn/internal/service/memoryagent"
	"cairn/internal/testkit"
)

// refining opens a Cairn with two memories and a model that orders them and writes them as one
// text. Each stage has a barrier of the same name.
func refining(t *testing.T) *apptest.Bundle {
	b := apptest.OpenIdle(t)
	a := agent.Actor{Workspace: b.Workspace.ID, Origin: agent.OriginUser, Op: "fill",
		Subject: agent.MemoryScope{Type: "procedural", Target: "deploy"}}
	_, err := b.LongTerm.AddMemories(t.Context(), a,
		[]memory.NewMemory{{Content: "Run a smoke test before traffic moves to the host."},
			{Content: "Tell the host's owner before traffic moves."}})
	testkit.Must(t, err)
	b.Model.On(openaitest.Rule{Stage: "rerank", Barrier: "rerank",
		Reply: `{"ranking":[{"memory":"m2","score":0.9},{"memory":"m1","score":0.4}]}`})
	b.Model.On(openaitest.Rule{Stage: "condense", Barrier: "condense",
		Reply: `{"context":"Tell the owner, and run a smoke test before traffic moves.","used":["m1","m2"]}`})
	return b
}

// asksRefined asks one question with a deadline.
func asksRefined(b *apptest.Bundle, deadline time.Duration) <-chan memoryagent.Answer {
	out := make(chan memoryagent.Answer, 1)
	go func() {
		a, err := b.Progressive.Retrieve(b.T.Context(),
			memoryagent.Question{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, ID: "refined",
				Query: "What happens before traffic moves to the host?", Mode: memoryagent.Fast,
				Refine: memoryagent.Refine{Rerank: true, Rewrite: true, Deadline: deadline},
				Spec:   app.TurnSpec(b.Config)})
		if err != nil {
			b.T.Error(err)
		}
		out <- a
	}()
	return out
}

// Wherever the worker dies after a reply was stored, no call is paid twice, and the caller gets
// the one result: at once, or by repeating the question after the deadline.
func TestARefinedSearchSurvivesACrash(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for name, c := range map[string]struct {
		stage    string // whose reply is stored when the worker dies
		deadline time.Duration
	}{
		"after the order, waited for":                   {"rerank", time.Minute},
		"after the text and before the end, waited for": {"condense", time.Minute},
		"after the text and before the end, given up":   {"condense", 150 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := refining(t)
			temporal := testkit.NewProxy(t, "tcp", b.Config.TemporalAddress)
			worker := b.StartProcess("TEMPORAL_ADDRESS=" + temporal.Address())
			asked := asksRefined(b, c.deadline)
			late := c.deadline < time.Second
			if late {
				if a := <-asked; !strings.Contains(a.Note, "deadline") || a.Text != "" || len(a.Memories) != 2 ||
					a.Run == "" {
					t.Errorf("at the deadline: %+v", a)
				}
			}
			testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "rerank", 1))
			free := func() {}
			if c.stage == "rerank" {
				temporal.Cut() // no process learns of the order
			} else {
				b.Model.Release("rerank")
				testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "condense", 1))
				free = holdRuns(b)
			}
			b.Model.Release(c.stage)
			testkit.Eventually(t, "the reply is stored", func() bool {
				return count(b,
					fmt.Sprintf("select count(*) from cairn.llm_calls where stage = '%s' and state = 'done'",
						c.stage)) == 1
			})
			if c.stage == "condense" {
				testkit.Eventually(t, "the end of the run waits to be written", func() bool {
					return count(b, "select count(*) from pg_stat_activity where datname = current_database() and "+
						"wait_event_type = 'Lock' and query ilike '%update%runs%'") > 0
				})
			}
			worker.Kill()
			free()
			if n := count(b, "select count(*) from cairn.runs where status = 'ended'"); n != 0 {
				t.Fatal("the run has ended before the worker died")
			}
			b.Model.Release("condense")
			b.StartProcess()
			if late {
				testkit.Eventually(t, "the run has ended", func() bool {
					return count(b, "select count(*) from cairn.runs where status = 'ended'") == 1
				})
				asked = asksRefined(b, c.deadline)
			}
			a := <-asked
			if a.Note != "" || a.Text != "Tell the owner, and run a smoke test before traffic moves." ||
				len(a.Memories) != 2 || !strings.HasPrefix(a.Memories[0].Content, "Run") ||
				*a.Memories[0].Relevance != 0.9 {
				t.Errorf("%+v", a)
			}
			if again := <-asksRefined(b, c.deadline); again.Run != a.Run || again.Text != a.Text {
				t.Errorf("asked again: %+v", again)
			}
			if n := count(b, "select count(*) from cairn.runs"); n != 1 {
				t.Errorf("%d runs", n)
			}
			if paid := b.Model.Paid(); len(paid) != 2 || len(b.Model.Requests()) != 2 {
				t.Errorf("paid %v after %d requests", paid, len(b.Model.Requests()))
			}
			for request, times := range b.Model.Paid() {
				if times != 1 {
					t.Errorf("%s was paid %d times", request, times)
				}
			}
		})
	}
}

// holdRuns prevents all runs from ending until free is called.
func holdRuns(b *apptest.Bundle) (free func()) {
	b.T.Helper()
	conn, err := pgx.Connect(b.T.Context(), b.AdminURL)
	testkit.Must(b.T, err)
	tx, err := conn.Begin(b.T.Context())
	testkit.Must(b.T, err)
	_, err = tx.Exec(b.T.Context(), "lock table cairn.runs in share mode")
	testkit.Must(b.T, err)
	return func() {
		testkit.Must(b.T, tx.Rollback(context.Background()))
		testkit.Must(b.T, conn.Close(context.Background()))
	}
}
