package e2e_test

import (
	"reflect"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/agentrun"
	"cairn/internal/testkit"
)

// another returns the service of another worker that has run no step of a turn.
func another(b *apptest.Bundle) *agentrun.Service {
	c := b.App.AgentRuns
	return &agentrun.Service{Ports: agentrun.Ports{Store: c.Store, Ledger: c.Ledger, Tools: c.Tools, Memory: c.Memory,
		Agents:           c.Agents,
		MemoryAgentTools: c.MemoryAgentTools, Compactor: c.Compactor, FlushSpec: c.FlushSpec}}
}

// stepped runs one step of a run.
func stepped(b *apptest.Bundle, at *agentrun.Service, ref run.Ref, n int) contract.StepResult {
	b.T.Helper()
	out, err := at.Step(b.T.Context(), pgtest.StepInput(ref, n))
	testkit.Must(b.T, err)
	return out
}

// looks scripts a model that searches and then answers, on a bundle whose steps the test runs.
func looks(t *testing.T) *apptest.Bundle {
	b := apptest.OpenIdle(t)
	b.Model.On(openaitest.Rule{Stage: "turn", Results: new(int), CallsFunc: looking})
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: "All right."})
	return b
}

// begun returns the run of a new turn.
func begun(b *apptest.Bundle, conversationID string) run.Ref {
	b.T.Helper()
	a, err := b.App.Inbox.Accept(b.T.Context(), b.Message(conversationID, "m1", "What do I drink?"))
	testkit.Must(b.T, err)
	return a.Run.Ref
}

// A worker caches the state that the next step needs. Another worker reads it from the database
// and sends the same request.
func TestAStepIsTheSameOnAnyWorker(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := looks(t)
	for conversationID, second := range map[string]*agentrun.Service{"same": b.App.AgentRuns, "other": another(b)} {
		ref := begun(b, conversationID)
		if out := stepped(b, b.App.AgentRuns, ref, 1); len(out.Calls) != 1 || out.Final {
			t.Fatalf("%s: the first step %+v", conversationID, out)
		}
		if out := stepped(b, second, ref, 2); !out.Final || out.Ended == nil || out.Ended.Reason != agent.Final ||
			out.Ended.Steps != 2 {
			t.Errorf("%s: the second step %+v", conversationID, out)
		}
	}
	both := asked(b, "turn")
	if len(both) != 4 {
		t.Fatalf("%d requests for two turns of two steps", len(both))
	}
	if prefix(t, both[1]) != prefix(t, both[3]) || !reflect.DeepEqual(both[1].Messages[2:], both[3].Messages[2:]) ||
		len(both[1].Messages) != 4 {
		t.Errorf("one worker asked %+v, two asked %+v", both[1].Messages, both[3].Messages)
	}
	validThreads(t, b)
}

// The cached state of a turn does not outlive the turn or its session.
func TestACarriedTurnIsNotBelievedBlindly(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	t.Run("ended", func(t *testing.T) {
		t.Parallel()
		b := looks(t)
		ref := begun(b, "c")
		stepped(b, b.App.AgentRuns, ref, 1)
		_, err := another(b).Close(t.Context(), pgtest.CloseAgent(ref, agent.Interrupted))
		testkit.Must(t, err)
		if out := stepped(b, b.App.AgentRuns, ref, 2); !out.Final || out.Ended == nil ||
			out.Ended.Reason != agent.Interrupted || b.Model.Count("turn") != 1 {
			t.Errorf("after %d requests %+v", b.Model.Count("turn"), out)
		}
	})
	t.Run("revoked", func(t *testing.T) {
		t.Parallel()
		b := looks(t)
		ref := begun(b, "c")
		stepped(b, b.App.AgentRuns, ref, 1)
		exec(b, "insert into cairn.soul_versions (workspace_id, version, content, action, origin, op_id) values "+
			"($1, 1, 'Speak like a pirate.', 'replace', 'user', 'test')", b.Workspace.ID)
		exec(b, "update cairn.workspaces set soul_version = 1 where id = $1", b.Workspace.ID)
		exec(b, "update cairn.frozen_sessions set revoked_at = now()")
		stepped(b, b.App.AgentRuns, ref, 2)
		if both := asked(b, "turn"); len(both) != 2 || prefix(t, both[0]) == prefix(t, both[1]) {
			t.Errorf("%d requests, and the last begins with the session that was revoked", len(both))
		}
	})
	t.Run("answered", func(t *testing.T) {
		t.Parallel()
		b := looks(t)
		ref := begun(b, "c")
		stepped(b, b.App.AgentRuns, ref, 1)
		stepped(b, another(b), ref, 2)
		if out := stepped(b, b.App.AgentRuns, ref, 2); !out.Final || out.Ended == nil ||
			out.Ended.Reason != agent.Final || b.Model.Count("turn") != 2 {
			t.Errorf("a step that another worker has made: %+v after %d requests", out, b.Model.Count("turn"))
		}
	})
}

// A question becomes searchable with its answer, once, under the time of the question.
func TestAQuestionIsFoundWithItsAnswer(t *testing.T) {
	t.Parallel()
	b := looks(t)
	ref := begun(b, "c")
	if n := count(b, "select count(*) from cairn.search_docs where kind = 'turn'"); n != 0 {
		t.Errorf("%d messages are found before the answer", n)
	}
	stepped(b, b.App.AgentRuns, ref, 1)
	stepped(b, b.App.AgentRuns, ref, 2)
	got := text(b, `select string_agg(d.seq || ' ' || d.session || ' ' || d.text || ' ' || (d.event_time = `+
		`t.accepted_at), ', ' order by d.seq) from cairn.search_docs d, cairn.turns t where d.kind = 'turn'`)
	if want := "0 0 What do I drink? true, 3 0 All right. false"; got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	if n := count(b, "select count(*) from cairn.embeddings"); n != 2 {
		t.Errorf("%d vectors", n)
	}
}
