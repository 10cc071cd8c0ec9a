package e2e_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	memories "cairn/internal/service/memory"
	"cairn/internal/testkit"
)

// The model of a conversation searches long-term memories with their sources, too. A memory that
// contains untrusted text taints the turn that reads it.
func TestAConversationLooksUpLongTermMemories(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	a := agent.Actor{Workspace: b.Workspace.ID, Origin: agent.OriginUser, Op: "test/1",
		Subject: agent.MemoryScope{Type: string(memory.Personal), Target: "alice"}}
	_, err := b.LongTerm.AddMemories(t.Context(), a,
		[]memories.NewMemory{{Content: "Alice keeps the boathouse key under the third stone"}})
	testkit.Must(t, err)
	b.Model.On(openaitest.Rule{Stage: "turn", Last: llm.RoleUser, Match: "boathouse",
		Calls: []llm.ToolCall{saying("memory_search", map[string]string{"query": "boathouse key"})}})
	b.Model.On(openaitest.Rule{Stage: "turn", Last: llm.RoleTool, Match: "third stone",
		Calls: []llm.ToolCall{saying("memory_save", map[string]string{"content": "The key is under a stone."})}})
	scriptSaves(b)
	b.Say("c", 1, "Where is the key of the boathouse?")
	var seen string
	for _, c := range asked(b, "turn") {
		if strings.Contains(c.Last, "third stone") {
			seen = c.Last
		}
	}
	if !strings.Contains(seen, `"type":"personal"`) || !strings.Contains(seen, `"target":"alice"`) {
		t.Errorf("the model is shown %s", seen)
	}
	const retrieved = "select retrieve_count::text from cairn.memories where type = 'personal'"
	if got := text(b, retrieved); got != "1" {
		t.Errorf("the memory counts %s runs that were shown it", got)
	}

	exec(b, "update cairn.memories set tainted = true where type = 'personal'")
	exec(b, "update cairn.memories set status = 'removed' where type = 'core'")
	b.Say("c", 2, "Again: where is the key of the boathouse?")
	if got := text(
		b,
		"select coalesce(string_agg(reason, ','), '') from cairn.pending_memories where state = 'pending'",
	); !strings.HasPrefix(got, "taint: ") {
		t.Errorf("what waits: %q", got)
	}
}
