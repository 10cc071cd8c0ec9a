package e2e_test

import (
	"context"
	"strings"
	"testing"

	"go.temporal.io/api/enums/v1"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/erasure"
	"cairn/internal/lab/apptest"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestEraseOfAConversationLeavesNothingOfIt(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, c := range []struct {
		derived         string
		memory, skill   string // states afterwards, empty when gone
		found, mayStand bool
	}{{erasure.Keep, "active", "active", true, true}, {erasure.Quarantine, "quarantined", "quarantined", false, true},
		{erasure.Delete, "", "", false, false}} {
		t.Run(c.derived, func(t *testing.T) {
			t.Parallel()
			b := apptest.Open(t)
			full(b)
			talk := conversationNumber(b, "talk")
			plan, err := b.Erase.Plan(t.Context(), erasure.Target{Workspace: b.Workspace.ID, Conversation: talk})
			testkit.Must(t, err)
			if len(plan.Derived) != 2 || plan.Derived[0].Kind != "memory" || plan.Derived[1].Ref != "bee-keeping" ||
				!plan.Derived[0].Sole || !plan.Derived[1].Sole {
				t.Fatalf("came of the conversation: %+v", plan.Derived)
			}
			before, objects := rows(b, b.Workspace), len(tree(t, b.Packages))
			e := erased(b, erasure.Target{Workspace: b.Workspace.ID, Conversation: talk, Derived: c.derived})

			for _, query := range []string{
				"select count(*) from cairn.conversations where external_id <> 'c1'",
				"select count(*) from cairn.turns", "select count(*) from cairn.runs where kind <> 'distill'",
				"select count(*) from cairn.agent_steps", "select count(*) from cairn.agent_calls",
				"select count(*) from cairn.messages where content ~ 'bees'",
				"select count(*) from cairn.llm_calls where " + requestOf + " ~ 'bees'",
				"select count(*) from cairn.tool_op_log where op_id !~ '/commit/'",
				"select count(*) from cairn.memories where conversation_id is not null or run_id is not null",
				"select count(*) from cairn.memory_revisions where conversation_id is not null or run_id is not null"} {
				if n := count(b, query); n != 0 {
					t.Errorf("%s: %d", query, n)
				}
			}
			for table, want := range plan.Rows {
				if how := e.Remaining[table]; how != 0 {
					t.Errorf("%d rows are left in %s", how, table)
				}
				if got := e.Deleted[table]; table != "packages" && got < want &&
					!strings.Contains(" memories memory_revisions skill_versions soul_versions ", " "+table+" ") {
					t.Errorf("%s: %d rows deleted, %d were planned", table, got, want)
				}
			}
			after := rows(b, b.Workspace)
			for _, table := range []string{"distill_tasks", "api_keys", "workspaces"} {
				if before[table] != after[table] {
					t.Errorf("%s had %d rows, has %d", table, before[table], after[table])
				}
			}
			if e.Skills != 1 || e.Memories != 1 {
				t.Errorf("%d skills and %d memories came of it, want one each", e.Skills, e.Memories)
			}
			if state := text(b, "select coalesce(max(status), '') from cairn.memories"); state != c.memory {
				t.Errorf("the memory is %q, want %q", state, c.memory)
			}
			if state := text(b,
				"select coalesce(max(status), '') from cairn.skills where name = 'bee-keeping'"); state != c.skill {
				t.Errorf("the skill is %q, want %q", state, c.skill)
			}
			if n := count(b,
				"select count(*) from cairn.skills where status = 'active' and name <> 'bee-keeping'"); n != 2 {
				t.Errorf("%d other skills are active, want 2", n)
			}
			if went := objects - len(tree(t, b.Packages)); went != e.Objects || (went == 2) == c.mayStand {
				t.Errorf("%d objects were removed, the erasure reports %d", went, e.Objects)
			}
			if n := count(b, "select count(*) from cairn.lex_terms t where df <> (select count(*) from "+
				"cairn.lex_docs l where l.keys @> array[t.workspace_id << 32 | t.term])"); n != 0 {
				t.Errorf("the counts of %d terms are wrong", n)
			}
			if docs, stats := count(b, "select count(*) from cairn.search_docs"),
				count(b, "select docs from cairn.lex_stats"); docs != stats {
				t.Errorf("%d documents, counted as %d", docs, stats)
			}
			found, err := b.Finder.Skills(t.Context(), b.Workspace.ID, "bee-keeping", 5)
			testkit.Must(t, err)
			hit := false
			for _, h := range found {
				hit = hit || h.Skill.Name == "bee-keeping"
			}
			if hit != c.found {
				t.Errorf("search finds %+v", found)
			}
			live := count(b, "select count(*) from cairn.frozen_sessions where revoked_at is null")
			if (live > 0) != c.found {
				t.Errorf("%d sessions contain it", live)
			}
			b.Record(contract.EraseID(b.Workspace.Key, talk), "Erase/conversation-"+c.derived)
			if answer := b.Say("talk", 1, "Thank you."); answer.Turn != 1 {
				t.Errorf("the name of the conversation leads to %+v", answer)
			}
		})
	}
}

// Case E15 for one conversation: a turn that finishes after the erasure leaves no data.
func TestATurnInFlightDoesNotBringItsConversationBack(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	full(b)
	before := rows(b, b.Workspace)
	accepted, err := b.App.Inbox.Accept(t.Context(), b.Message("open", "m1", "linger"))
	testkit.Must(t, err)
	// the relay would start the turn again after its workflow was stopped
	exec(b, "update cairn.outbox set due_at = 'infinity'")
	hang(b)
	talk := conversationNumber(b, "open")
	e := erased(b, erasure.Target{Workspace: b.Workspace.ID, Conversation: talk})
	if e.Workflows != 2 || e.WorkflowsLeft != 0 {
		t.Errorf("%d workflows were stopped and %d are left, want the conversation's and its turn's stopped",
			e.Workflows, e.WorkflowsLeft)
	}
	for _, id := range []string{contract.ConversationID(b.Workspace.Key, talk), accepted.Run.WorkflowID} {
		if got := status(b, id); got != enums.WORKFLOW_EXECUTION_STATUS_TERMINATED {
			t.Errorf("%s is %s", id, got)
		}
	}

	// A relay can read the turn before the erasure and deliver it afterwards. It gets an error,
	// unless that takes longer than its timeout. As a relay does, deliver it until it has begun.
	testkit.Eventually(t, "the turn that is gone fails", func() bool {
		now := status(b, accepted.Run.WorkflowID)
		if now == enums.WORKFLOW_EXECUTION_STATUS_TERMINATED {
			_ = b.Driver.Start(t.Context(), b.Workspace.Key, "chat", accepted.Run)
		}
		return now == enums.WORKFLOW_EXECUTION_STATUS_FAILED
	})
	testkit.Eventually(t, "the conversation that is gone ends by itself", func() bool {
		return status(b, contract.ConversationID(b.Workspace.Key, talk)) == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	})
	b.Record(contract.ConversationID(b.Workspace.Key, talk), "Conversation/erased")

	b.Model.Release("hang")
	b.Stop() // when what is under way has ended
	for table, n := range rows(b, b.Workspace) {
		if table == "erased_runs" { // the ID of the turn stays
			if n != 1 {
				t.Errorf("%d erased runs are known, want the turn's", n)
			}
			continue
		}
		// a session is the workspace's, and the erasure itself is an event
		if n != before[table] && table != "frozen_sessions" && table != "outbox" && table != "audit_events" {
			t.Errorf("%s had %d rows before the conversation and has %d after it", table, before[table], n)
		}
	}
	if n := count(b, "select count(*) from cairn.outbox o where kind in ('turn', 'drive') and not exists (select from "+
		"cairn.runs r where r.id = o.key)"); n != 0 {
		t.Errorf("%d duties for runs that are gone", n)
	}
}

// status returns the status of the newest execution of a workflow.
func status(b *apptest.Bundle, id string) enums.WorkflowExecutionStatus {
	b.T.Helper()
	d, err := b.Temporal.DescribeWorkflow(b.T.Context(), id, "")
	testkit.Must(b.T, err)
	return d.RawResponse.WorkflowExecutionInfo.Status
}

// If the request says so, a distilled skill is erased with its conversation.
func TestADistilledSkillIsErasedWithItsConversation(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	full(b)
	e := erased(b, erasure.Target{Workspace: b.Workspace.ID, Conversation: conversationNumber(b, "c1"),
		Derived: erasure.Delete})
	if e.Skills != 1 || e.Deleted["skills"] != 1 || e.Deleted["packages"] != 1 || e.Objects != 2 ||
		e.Deleted["distill_tasks"] != 1 || e.Deleted["messages"] != 14 {
		t.Errorf("erased %+v", e)
	}
	for _, query := range []string{"select count(*) from cairn.skills where name = 'service-deployment-rollback'",
		"select count(*) from cairn.skill_files where content ~ 'checklist'",
		"select count(*) from cairn.llm_calls where " + requestOf + " ~ 'Checkout'",
		"select count(*) from cairn.search_docs where text ~* 'rollback'"} {
		if n := count(b, query); n != 0 {
			t.Errorf("%s: %d", query, n)
		}
	}
	if n := count(b, "select count(*) from cairn.skills where status = 'active'"); n != 2 {
		t.Errorf("%d skills are left, want the uploaded one and the agent's", n)
	}
}

func conversationNumber(b *apptest.Bundle, name string) (id int64) {
	b.T.Helper()
	b.Within(func(ctx context.Context, q store.Tx) error {
		v, err := q.ConversationViews().ConversationView(ctx, name)
		id = v.ID
		return err
	})
	return id
}

func text(b *apptest.Bundle, query string) (s string) {
	b.T.Helper()
	testkit.Must(b.T, b.Admin().QueryRow(b.T.Context(), query).Scan(&s))
	return s
}
