package offlinemodel

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/prompt"
)

var keepers = []prompt.MemorySkill{{Name: "insert", Action: "insert", Description: "Adds facts.",
	WhenToUse: []string{"The span brings facts or events"}, Constraints: []string{"Ignore greetings"}}}

// Replies of the memory skill rules conform to the schemas and to the readers of model replies.
func TestTheRulesOfMemorySkillsFitTheirSchemas(t *testing.T) {
	t.Parallel()
	remembered := ask(t, prompt.Remember, prompt.Material{
		Messages: []prompt.Message{{Index: 4, Role: "user", Name: "Ada", Content: "I visited the harbour museum."}},
		Bank:     keepers})
	actions, outcome := executor.Decode(marshalled(remembered))
	if outcome != executor.OK || len(actions) != 1 || actions[0].Content != "I visited the harbour museum." ||
		actions[0].About != "Ada" || actions[0].Evidence[0] != 4 || actions[0].Kind != "personal" {
		t.Errorf("%s %+v", outcome, actions)
	}
	cases := json.RawMessage(`[{"handle":"c0","mechanism":"storage","evidence":["My doctor says I am ` +
		`allergic"]},{"handle":"c1","mechanism":"retrieval"}]`)
	proposed := ask(t, prompt.Propose, prompt.Material{Bank: keepers, Cases: cases,
		Limits: map[string]int{"max_changes": 3}})
	proposed["action"] = designer.ApplyChanges
	p, err := designer.Decode([]byte(marshalled(proposed)))
	if err != nil || len(p.Changes) != 2 || p.Changes[1].Skill == nil || p.Changes[0].Changes == nil ||
		p.Changes[0].Changes.Title != nil {
		t.Errorf("%v %+v", err, p)
	}
	if found := ask(t, prompt.Diagnose, prompt.Material{Bank: keepers, Cases: cases,
		Limits: map[string]int{"max_changes": 3}})["failure_patterns"].([]any); len(found) != 2 {
		t.Errorf("patterns %v", found)
	}
	if got := ask(t, prompt.Recite, prompt.Material{Question: "What did Ada visit?",
		Memories: []string{"Ada visited the harbour museum",
			"Bo swims"}}); got["answer"] != "Ada visited the harbour museum" {
		t.Errorf("answer %v", got)
	}
}

// Questions are derived from the messages, as many as requested, each with the end of a sentence as
// its answer and the message as its evidence. Other words lead to other questions.
func TestQuestionsFollowWhatWasSaid(t *testing.T) {
	t.Parallel()
	said := []prompt.Message{{Index: 3, Role: "user",
		Content: "[2026-01-02 09:00] Hello! The greenhouse has nine tall lemon trees."},
		{Index: 4, Role: "assistant", Content: "How are they?"},
		{Index: 5, Role: "user", Content: "The cellar key hangs next to the kitchen door."},
		{Index: 6, Role: "user", Content: "我家的温室里有九棵很高的柠檬树和三棵核桃树。"}}
	made := func(m prompt.Material) (out []map[string]any) {
		for _, one := range ask(t, prompt.Probe, m)["probes"].([]any) {
			out = append(out, one.(map[string]any))
		}
		return out
	}
	got := made(prompt.Material{Messages: said[:3], Limits: map[string]int{"max_probes": 2}})
	if len(got) != 2 || got[0]["answer"] != "lemon trees" ||
		!strings.Contains(got[0]["question"].(string), "The greenhouse has nine tall") ||
		strings.Contains(got[0]["question"].(string), "2026") ||
		marshalled(got[0]["evidence"]) != "[3]" || got[1]["answer"] != "kitchen door" ||
		marshalled(got[1]["evidence"]) != "[5]" {
		t.Errorf("%s", marshalled(got))
	}
	if one := made(prompt.Material{Messages: said[:3], Limits: map[string]int{"max_probes": 1}}); len(one) != 1 {
		t.Errorf("%s", marshalled(one))
	}
	if zh := made(prompt.Material{Messages: said[3:], Language: "zh"}); len(zh) != 1 ||
		!strings.Contains(zh[0]["question"].(string), "怎么接") || !strings.HasSuffix(zh[0]["answer"].(string), "核桃树") {
		t.Errorf("%s", marshalled(zh))
	}
	if none := made(prompt.Material{Messages: said[1:2]}); len(none) != 0 {
		t.Errorf("%s", marshalled(none))
	}
}
