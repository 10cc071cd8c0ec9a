package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/memoryagent"
	"cairn/internal/testkit"
)

// Check A5: wherever the worker dies, the memories equal those of an undisturbed run, and stored
// replies are not requested again.

func TestAgentsSurviveACrashAfterAReply(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	// Both specialists wait for their second reply. Their first one is stored.
	b.Model.On(openaitest.Rule{Stage: "specialist", Results: new(1), Times: 2, Barrier: "second", Drop: true})
	scriptDeploying(b)
	worker := b.StartProcess()
	r := summarize(b, chat(deploying()...))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "second", 2))
	worker.Kill()
	b.Model.Release("second")
	b.StartProcess()
	rememberedOnce(b, r.Ref, 2)
}

func TestAgentsSurviveACrashAfterACommit(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Model.On(openaitest.Rule{Stage: "specialist", Results: new(1), Times: 2, Barrier: "adding",
		CallsFunc: func(c openaitest.Call) []llm.ToolCall {
			if strings.Contains(c.Messages[0].Content, "remembered about alice") {
				return does(adds("Alice flies from Osaka only."))(c).calls
			}
			return does(adds("Run a smoke test before traffic moves to the host."))(c).calls
		}})
	// How far a worker gets after its commit depends on the machine. Its next request gets no
	// reply.
	b.Model.On(openaitest.Rule{Stage: "specialist", Results: new(2), Times: 2, Barrier: "added", Drop: true})
	scriptDeploying(b)
	temporal := testkit.NewProxy(t, "tcp", b.Config.TemporalAddress)
	worker := b.StartProcess("TEMPORAL_ADDRESS=" + temporal.Address())
	r := summarize(b, chat(deploying()...))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "adding", 2))
	conn, err := pgx.Connect(t.Context(), b.AdminURL)
	testkit.Must(t, err)
	tx, err := conn.Begin(t.Context())
	testkit.Must(t, err)
	_, err = tx.Exec(t.Context(), "lock table cairn.memories in share mode")
	testkit.Must(t, err)
	b.Model.Release("adding")
	testkit.Eventually(t, "both memories wait to be written", func() bool {
		return count(b, "select count(*) from pg_stat_activity where datname = current_database() and "+
			"wait_event_type = 'Lock'") == 2
	})
	temporal.Cut() // no process learns of the commits
	testkit.Must(t, tx.Rollback(t.Context()))
	testkit.Must(t, conn.Close(t.Context()))
	testkit.Eventually(t, "the memories are written", func() bool {
		return count(b, "select count(*) from cairn.memories where type in ('personal', 'procedural')") == 2
	})
	worker.Kill()
	b.Model.Release("added")
	b.StartProcess()
	rememberedOnce(b, r.Ref, 2)
}

func TestAgentsSurviveACrashDuringAHandOff(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Model.On(openaitest.Rule{Stage: "specialist", System: "remembered about alice", Results: new(0), Times: 1,
		Barrier: "alice", Drop: true})
	scriptDeploying(b)
	worker := b.StartProcess()
	r := summarize(b, chat(deploying()...))
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "alice", 1))
	testkit.Eventually(t, "the other specialist is done", func() bool {
		return count(b, "select count(*) from cairn.runs where kind = 'specialist' and status = 'ended'") == 1
	})
	worker.Kill()
	b.Model.Release("alice")
	b.StartProcess()
	rememberedOnce(b, r.Ref, 1)
}

// rememberedOnce waits for the run and checks its effects and model calls. inFlight is the
// number of requests without a reply, including those of killed workers.
func rememberedOnce(b *apptest.Bundle, ref run.Ref, inFlight int) {
	b.T.Helper()
	got := summarized(b, ref)
	if got.Status != memoryagent.OK || len(got.Tasks) != 2 {
		b.T.Errorf("%+v", got)
	}
	if rows := slices.Concat(remembers(b, memory.Personal), remembers(b, memory.Procedural)); !slices.Equal(rows,
		[]string{"alice: Alice flies from Osaka only.", "deploy: Run a smoke test before traffic moves to the host."}) {
		b.T.Errorf("remembered %q", rows)
	}
	if n := count(b, "select count(*) from cairn.memories where type = 'summary'"); n != 1 {
		b.T.Errorf("%d digests", n)
	}
	answered := 0
	for key, times := range b.Model.Paid() {
		answered += times
		if times > 1 {
			b.T.Errorf("%s was answered %d times", key, times)
		}
	}
	if n := len(b.Model.Requests()); answered != 9 || n != 9+inFlight {
		b.T.Errorf("%d requests, %d answered; want 9 answers", n, answered)
	}
	if n := count(b,
		"select count(*) from cairn.tool_op_log where op_id like '%/step-%' and result is not null"); n != 4 {
		b.T.Errorf("%d operations are logged, want one for each of two registrations in one call, a digest and two "+
			"memories", n)
	}
	validThreads(b.T.(*testing.T), b)
}

// Check A10: errors of a model are reported to it for each call and affect only its own data.
func TestWhatAModelGetsWrongIsToldAndReachesNothing(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	other, err := b.Store.Workspace(t.Context(), "other", true)
	testkit.Must(t, err)
	foreign := "00ffeeddccbbaa99"
	exec(b, `insert into cairn.memories (workspace_id, external_id, type, target, content, content_sha256, origin, `+
		`op_id) values ($1, $2, 'personal', 'alice', 'theirs', sha256('x'), 'user', 'op')`, other.ID, foreign)
	perform(b, "summarize", "", does(addMeta("personal/alice")), does(handsOff("personal/alice")), says("Done."))
	wrong := []llm.ToolCall{
		saying("forget_everything", object{}),
		{Name: "add_memory", Arguments: `{"memories":[{"memory_content":"half`},
		saying("add_memory", object{"memories": []object{}}),
		saying("update_memory", object{"memories": []object{{"memory_id": foreign, "memory_content": "mine"}}}),
		saying("delete_memory", object{"memory_ids": []string{foreign}}),
		saying("add_memory", object{"memories": []object{{"memory_content": "Alice keeps bees."}},
			"workspace_id": "other", "memory_target": "bob", "ref_memory_id": "x", "author": "me"}),
		saying("hands_off", object{"memory_tasks": tasks([]string{"personal/alice"})}),
		saying("delete_memory", object{"memory_ids": []string{"HISTORY"}}),
	}
	b.Model.On(openaitest.Rule{Stage: "specialist", Results: new(0), CallsFunc: func(openaitest.Call) []llm.ToolCall {
		calls := does(wrong...)(openaitest.Call{}).calls
		calls[5].ID = "" // an endpoint that gives none
		calls[7] = saying("delete_memory", object{
			"memory_ids": column[string](b, "select id from cairn.memory_histories")})
		calls[7].ID = "h"
		return calls
	}})
	b.Model.On(openaitest.Rule{Stage: "specialist", Last: llm.RoleTool, Reply: "That is all."})
	got := summarized(b, summarize(b, chat(deploying()...)).Ref)
	if got.Status != memoryagent.OK || len(got.Tasks) != 1 || len(got.Tasks[0].Added) != 1 {
		t.Fatalf("%+v", got)
	}
	told := results(t, asked(b, "specialist")[1])
	codes := []string{"unknown_tool", "invalid_argument", "invalid_argument", "not_found", "not_found", "",
		"unknown_tool", "out_of_scope"}
	for i, want := range codes {
		code := ""
		if problem, failed := told[i]["error"].(object); failed {
			code, _ = problem["code"].(string)
		}
		if code != want {
			t.Errorf("call %d was told %v, want %q", i, told[i], want)
		}
	}
	if rows := remembers(b, memory.Personal); !slices.Equal(rows, []string{"alice: Alice keeps bees."}) {
		t.Errorf("remembered %q", rows)
	}
	if texts := column[string](b, "select content from cairn.memories where workspace_id = $1",
		other.ID); !slices.Equal(texts, []string{"theirs"}) {
		t.Errorf("another workspace has %q", texts)
	}
	validThreads(t, b)
}
