package e2e_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/lab/pgtest"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/memoryagent"
	"cairn/internal/testkit"
)

// narrow makes the model's window so small that a session of saga has several parts.
func narrow(c *config.Config) { c.ModelWindow = 8000 }

const sagaTurns = 24

// saga returns a session in which Alice mentions a new fact in every turn.
func saga() (out []transcript.Message) {
	for i := range sagaTurns {
		out = append(out, transcript.Message{Role: transcript.User,
			Content: fmt.Sprintf("Alice has seen fact-%02d. %s", i, strings.Repeat("And then she went on. ", 60))},
			transcript.Message{Role: transcript.Assistant, Content: "Noted."})
	}
	return out
}

var (
	factForm = regexp.MustCompile(`fact-\d\d`)
	partForm = regexp.MustCompile(`"task":"(\d+/\d+)"`)
)

// facts returns the facts in a request, in order.
func facts(c openaitest.Call) []string { return factForm.FindAllString(c.Messages[1].Content, -1) }

// scriptSaga scripts agents that delegate every part to alice's specialist, who saves each fact
// in the request.
func scriptSaga(b *apptest.Bundle) {
	part := func(c openaitest.Call) string {
		if m := partForm.FindStringSubmatch(c.Messages[1].Content); m != nil {
			return m[1]
		}
		return ""
	}
	perform(b, "summarize", "", func(c openaitest.Call) played {
		if part(c) == "" {
			return does(addSummary("Alice told of " + strings.Join(facts(c), ", ") + "."))(c)
		}
		return does(handsOff("personal/alice"))(c)
	}, func(c openaitest.Call) played {
		return played{text: "Alice told of " + strings.Join(facts(c), ", ") + "."}
	})
	perform(b, "specialist", "", func(c openaitest.Call) played {
		var all []object
		for _, f := range facts(c) {
			all = append(all, object{"memory_content": "Alice has seen " + f + "."})
		}
		return does(saying("add_memory", object{"memories": all}))(c)
	}, says("Added."))
}

func ofAlice(r *memoryagent.Request) {
	r.Targets = []memory.Task{{Type: memory.Personal, Target: "alice"}}
}

// toldOnce checks that every fact of the saga was sent, saved and reported once.
func toldOnce(b *apptest.Bundle, ref run.Ref) {
	b.T.Helper()
	got := summarized(b, ref)
	if got.Status != memoryagent.OK || got.Parts < 3 || len(got.Tasks) != got.Parts || got.Fallback ||
		got.Digest == "" {
		b.T.Fatalf("%+v", got)
	}
	var all, want []string
	for i := range sagaTurns {
		want = append(want, fmt.Sprintf("fact-%02d", i))
	}
	for i, task := range got.Tasks {
		if task.Part != i+1 || task.Status != memoryagent.OK || len(task.Added) == 0 {
			b.T.Errorf("task %d: %+v", i, task)
		}
	}
	for _, line := range remembers(b, memory.Personal) {
		all = append(all, factForm.FindString(line))
	}
	if !slices.Equal(all, want) {
		b.T.Errorf("remembered %q", all)
	}
	if digests := remembers(b, memory.Summary); len(digests) != 1 ||
		!slices.Equal(factForm.FindAllString(digests[0], -1), want) {
		b.T.Errorf("the digests are %q", digests)
	}
	for request, times := range b.Model.Paid() {
		if times != 1 {
			b.T.Errorf("%s was answered %d times", request, times)
		}
	}
	if n := count(b, "select count(*) from cairn.memory_revisions"); n != sagaTurns+1 {
		b.T.Errorf("%d revisions of %d memories and a digest", n, sagaTurns)
	}
	validThreads(b.T.(*testing.T), b)
}

// A session that exceeds one request is processed in parts and in order. No fact is lost or sent
// twice, and the digest covers all parts.
func TestALongSessionIsGoneThroughPartByPart(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t, narrow)
	scriptSaga(b)
	r := summarize(b, saga(), ofAlice)
	toldOnce(b, r.Ref)
	shown := map[string][]string{}
	for _, stage := range []string{"summarize", "specialist"} {
		for _, c := range asked(b, stage) {
			if n := llm.EstimateTokens(c.Messages[1].Content); n > 3600 {
				t.Errorf("%s is shown %d tokens", stage, n)
			}
			last := c.Messages[len(c.Messages)-1].Role
			if last != llm.RoleTool && !strings.Contains(c.Messages[1].Content, `"notes"`) {
				shown[stage] = append(shown[stage], facts(c)...)
			}
		}
	}
	if !slices.Equal(shown["summarize"], shown["specialist"]) || len(shown["specialist"]) != sagaTurns ||
		!slices.IsSorted(shown["specialist"]) {
		t.Errorf("shown %q", shown)
	}
	if again := summarize(b, saga(), ofAlice); again.Ref != r.Ref {
		t.Errorf("the same request is run %s", again.Ref.Run)
	}
	requests := asked(b, "summarize")
	if first, end := requests[0].Messages[0].Content,
		requests[len(requests)-1].Messages[0].Content; !strings.Contains(first, "part 1 of ") ||
		!strings.Contains(end, "gone through all") {
		t.Errorf("told\n%s\nand in the end\n%s", first, end)
	}
	b.Record(r.WorkflowID, "Summarize/parts")
}

// Wherever the worker dies, the work on a part is not repeated.
func TestALongSessionSurvivesACrash(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t, narrow)
	// the second part's memories are written
	b.Model.On(openaitest.Rule{Stage: "specialist", Match: `"ok":true`, Nth: 2, Times: 1, Barrier: "second",
		Drop: true})
	scriptSaga(b)
	worker := b.StartProcess("CAIRN_MODEL_WINDOW=8000")
	r := summarize(b, saga(), ofAlice)
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "second", 1))
	worker.Kill()
	b.Model.Release("second")
	b.StartProcess("CAIRN_MODEL_WINDOW=8000")
	toldOnce(b, r.Ref)
}

// A message that exceeds one request is sent in pieces.
func TestAMessageThatIsTooLongIsShownInPieces(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t, narrow)
	scriptSaga(b)
	one := ""
	for _, m := range saga() {
		if m.Role == transcript.User {
			one += m.Content + " "
		}
	}
	r := summarize(b, nil, ofAlice, func(r *memoryagent.Request) { r.Query = one })
	toldOnce(b, r.Ref)
}

// A conversation that exceeds one session is read in several, and the first one is not too long.
func TestAVeryLongConversationIsReadInSessions(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	accepted, err := b.App.Inbox.Accept(t.Context(), b.Message("c", "m1", "first"))
	testkit.Must(t, err)
	conversation := accepted.Run.Conversation
	exec(b, `insert into cairn.messages (workspace_id, conversation_id, seq, external_id, role, content)
		select m.workspace_id, m.conversation_id, n, 'x' || n, 'user', 'line ' || n from cairn.messages m, `+
		`generate_series(1, $1::int) n where m.content = 'first'`, memories.SessionMessages+199)
	exec(b, "update cairn.conversations set next_seq = $1 where id = $2", memories.SessionMessages+200, conversation)
	r, err := b.Progressive.SummarizeIdle(t.Context(),
		memoryagent.Idle{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Conversation: conversation,
			Spec: app.TurnSpec(b.Config)})
	testkit.Must(t, err)
	if _, err := b.Progressive.KeepSession(t.Context(), contract.AgentInput{RunRef: pgtest.RunRef(r.Ref)}); err != nil {
		t.Fatal(err)
	}
	if kept := column[int](b, "select to_seq - from_seq + 1 from cairn.memory_histories"); len(kept) != 1 ||
		kept[0] != memories.SessionMessages {
		t.Errorf("sessions of %v messages", kept)
	}
}
