package offline

import (
	"encoding/json"
	"testing"

	"cairn/internal/memskill/designer"
	"cairn/internal/memskill/executor"
	"cairn/internal/prompt"
)

var keepers = []prompt.MemorySkill{{Name: "insert", Action: "insert", Description: "Adds facts.", WhenToUse: []string{"The span brings facts or events"}, Constraints: []string{"Ignore greetings"}}}

// What the rules of memory skills say arrives through the schemas that models are
// given, as the readers of a model's replies want it.
func TestTheRulesOfMemorySkillsFitTheirSchemas(t *testing.T) {
	t.Parallel()
	remembered := ask(t, prompt.Remember, prompt.Material{Messages: []prompt.Message{{Index: 4, Role: "user", Name: "Ada", Content: "I visited the harbour museum."}}, Bank: keepers})
	actions, outcome := executor.Decode(marshalled(remembered))
	if outcome != executor.OK || len(actions) != 1 || actions[0].Content != "I visited the harbour museum." || actions[0].About != "Ada" || actions[0].Evidence[0] != 4 || actions[0].Kind != "personal" {
		t.Errorf("%s %+v", outcome, actions)
	}
	cases := json.RawMessage(`[{"handle":"c0","mechanism":"storage","evidence":["My doctor says I am allergic"]},{"handle":"c1","mechanism":"retrieval"}]`)
	proposed := ask(t, prompt.Propose, prompt.Material{Bank: keepers, Cases: cases, Limits: map[string]int{"max_changes": 3}})
	proposed["action"] = designer.ApplyChanges
	p, err := designer.Decode([]byte(marshalled(proposed)))
	if err != nil || len(p.Changes) != 2 || p.Changes[1].Skill == nil || p.Changes[0].Changes == nil || p.Changes[0].Changes.Title != nil {
		t.Errorf("%v %+v", err, p)
	}
	if found := ask(t, prompt.Diagnose, prompt.Material{Bank: keepers, Cases: cases, Limits: map[string]int{"max_changes": 3}})["failure_patterns"].([]any); len(found) != 2 {
		t.Errorf("patterns %v", found)
	}
	if got := ask(t, prompt.Recite, prompt.Material{Question: "What did Ada visit?", Memories: []string{"Ada visited the harbour museum", "Bo swims"}}); got["answer"] != "Ada visited the harbour museum" {
		t.Errorf("answer %v", got)
	}
}
