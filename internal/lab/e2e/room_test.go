package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/memory"
	"cairn/internal/testkit"
)

// place returns a fact, a question about it and the answer.
func place(n int) (fact, question, answer string) {
	colors := []string{"amber", "azure", "beige", "black", "brown", "coral", "green", "ivory", "khaki", "lilac",
		"mauve", "olive", "peach", "pearl", "white"}
	things := []string{"anvil", "basket", "candle", "drum", "easel", "flute", "globe", "hammock", "inkwell", "jacket",
		"kettle", "ladder", "mirror", "needle", "oboe", "pillow", "quilt", "rake", "scarf", "teapot"}
	what := colors[n/len(things)] + " " + things[n%len(things)]
	return fmt.Sprintf("My %s is in room R%03d.", what, n+100), "In which room is my " + what + "?",
		fmt.Sprintf("R%03d", n+100)
}

// cutTokens returns the estimated tokens of the first request of a turn, with a history of the last ten turns.
func cutTokens(b *apptest.Bundle, turn conversation.TurnStatus) int {
	b.T.Helper()
	all, err := b.Runs.Exchanges(b.T.Context(), run.Ref{Workspace: b.Workspace.ID, Run: turn.Run}, "step/1")
	testkit.Must(b.T, err)
	messages := all[0].Messages
	users := 0
	from := len(messages)
	for from > 0 && users <= 10 {
		if from--; messages[from].Role == llm.RoleUser {
			users++
		}
	}
	text := strings.Join(all[0].Tools, " ")
	for i, m := range messages {
		if i >= from || m.Role == "system" {
			raw, err := json.Marshal(m)
			testkit.Must(b.T, err)
			text += string(raw)
		}
	}
	return llm.EstimateTokens(text)
}

// tellFacts says facts in one conversation, each of which is acknowledged and found. early is the turn that the
// prompt of the last one is compared with.
func tellFacts(b *apptest.Bundle, facts, early int, acknowledges func(reply, answer string) bool) {
	b.T.Helper()
	exec(b, `update cairn.workspaces set settings = '{"nudge":{"off":true}}' where id = $1`, b.Workspace.ID)
	tokens := map[int]int{}
	for n := range facts {
		fact, _, answer := place(n)
		out := b.Say("facts", n+1, fact)
		if !acknowledges(out.Reply, answer) {
			b.T.Fatalf("fact %d is answered %q", n+1, out.Reply)
		}
		if n+1 == early || n+1 == facts {
			tokens[n+1] = cutTokens(b, out)
		}
	}
	b.T.Logf("tokens of prompts: %v", tokens)
	if tokens[facts]*2 > tokens[early]*3 {
		b.T.Errorf("the prompt of turn %d has %d tokens, that of turn %d has %d", facts, tokens[facts], early,
			tokens[early])
	}
	lost := 0
	for n := range facts {
		_, question, answer := place(n)
		out, err := b.Memory.Search(b.T.Context(), agent.Actor{Workspace: b.Workspace.ID, Origin: agent.OriginUser},
			memory.SearchArgs{Query: question})
		testkit.Must(b.T, err)
		found := false
		for _, r := range out.Results {
			found = found || strings.Contains(r.Content, answer)
		}
		if !found {
			lost++
			b.T.Errorf("%q does not find %s", question, answer)
		}
	}
	if n := count(b, "select count(*) from cairn.memories where status = 'active' and type = 'core'"); n != facts {
		b.T.Errorf("%d facts are stored, want %d", n, facts)
	}
}

// scriptNotes makes the model save each message of a user and repeat the error if that fails.
func scriptNotes(b *apptest.Bundle) {
	b.Model.On(openaitest.Rule{Stage: "turn", Last: llm.RoleUser, CallsFunc: func(c openaitest.Call) []llm.ToolCall {
		return []llm.ToolCall{saying("memory_save", map[string]string{"content": c.Last})}
	}})
	b.Model.On(openaitest.Rule{Stage: "turn", Last: llm.RoleTool, ReplyFunc: func(c openaitest.Call) string {
		if strings.Contains(c.Last, `"ok":true`) {
			return "Noted."
		}
		return "Not saved: " + c.Last
	}})
}

func noted(reply, _ string) bool { return reply == "Noted." }

func repeated(reply, answer string) bool {
	return strings.HasPrefix(reply, "Noted: ") && strings.Contains(reply, answer)
}

func TestFactsBeyondTheStoreAreRememberedWithoutAModel(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t, offlineRules)
	tellFacts(b, 90, 40, repeated)
	for n := 0; n < 90; n += 30 { // in another conversation
		_, question, answer := place(n)
		if out := b.Say("questions", n, question); !strings.Contains(out.Reply, answer) {
			t.Errorf("%q is answered %q", question, out.Reply)
		}
	}
}

func TestFactsBeyondTheStoreAreRememberedByAScriptedModel(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	scriptNotes(b)
	tellFacts(b, 90, 40, noted)
}

func TestThreeHundredFactsOfOneConversation(t *testing.T) {
	testkit.Long(t)
	t.Run("offline", func(t *testing.T) { tellFacts(apptest.Open(t, offlineRules), 300, 40, repeated) })
	t.Run("scripted", func(t *testing.T) {
		b := apptest.Open(t)
		scriptNotes(b)
		tellFacts(b, 300, 40, noted)
	})
}

// The memory tool of the old size refused every fact with the whole store; such errors were also repeated per turn.
func TestAHistoryKeepsOneOfEqualFailedCalls(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	exec(b, `update cairn.workspaces set settings = '{"nudge":{"off":true}}' where id = $1`, b.Workspace.ID)
	b.Model.On(openaitest.Rule{Stage: "turn", Last: llm.RoleUser, CallsFunc: func(c openaitest.Call) []llm.ToolCall {
		return []llm.ToolCall{saying("memory_remove", map[string]string{"store": "core", "match": "what is not there"})}
	}})
	b.Model.On(openaitest.Rule{Stage: "turn", Last: llm.RoleTool, Reply: "I do not have that."})
	for n := range 8 {
		b.Say("c", n+1, fmt.Sprintf("Forget it, try %d.", n))
	}
	all := asked(b, "turn")
	last := all[len(all)-2] // the first request of the last turn
	failures, tries := 0, 0
	for _, m := range last.Messages {
		if m.Role == llm.RoleTool && strings.Contains(m.Content, "no_match") {
			failures++
		}
		if m.Role == llm.RoleUser && strings.Contains(m.Content, "try") {
			tries++
		}
	}
	if failures != 1 || tries != 8 {
		t.Errorf("a history of %d turns repeats the same failure %d times", tries, failures)
	}
}

// A move is no source of the text: an erasure of the conversation that caused it leaves the entry, and one of the
// conversation that said it removes the entry.
func TestErasureOfAMovedEntryFollowsItsSource(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	exec(b, `update cairn.workspaces set settings = '{"nudge":{"off":true},"limits":{"core_runes":40}}' where id = $1`,
		b.Workspace.ID)
	scriptNotes(b)
	b.Say("source", 1, "The amber anvil is in room R1.")
	b.Say("mover", 2, "The azure basket is in R2.")
	const anvil = "select count(*) from cairn.memories where content like '%anvil%' and moved"
	if count(b, anvil) != 1 {
		t.Fatal("the first entry has not moved")
	}
	for _, c := range []struct {
		conversation string
		want         int
	}{{"mover", 1}, {"source", 0}} {
		erased(b, erasure.Target{Workspace: b.Workspace.ID, Conversation: conversationNumber(b, c.conversation),
			Derived: erasure.Delete})
		if n := count(b, anvil); n != c.want {
			t.Errorf("after the erasure of %s: %d entries, want %d", c.conversation, n, c.want)
		}
	}
	for _, table := range []string{"memory_revisions where content like '%anvil%'",
		"tool_op_log where result::text like '%anvil%'", "llm_calls where request::text like '%anvil%'"} {
		if n := count(b, "select count(*) from cairn."+table); n != 0 {
			t.Errorf("%d rows are left in %s", n, table)
		}
	}
}
