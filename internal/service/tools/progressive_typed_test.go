package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/tools"
)

func TestTypedToolsTakeWhatTheirNamesLeaveOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		profile tools.Profile
		want    map[string]string
	}{
		{tools.Retriever(), map[string]string{"retrieve_personal_memory": "thinking memory_target query",
			"retrieve_procedural_memory": "thinking memory_target query", "retrieve_tool_memory": "thinking tool_name",
			"retrieve_identity_memory": "thinking query", "retrieve_history": "thinking id"}},
		{tools.MetaSummarizer(), map[string]string{"add_meta_memory": "thinking memory_type memory_target",
			"summary_context": "thinking summary", "hand_off_agent": "thinking memory_type memory_target"}},
		{tools.Specialist(memory.Guideline), map[string]string{"add_memory": "thinking memory_content when_to_use",
			"update_tool_memory": "thinking memory_id memory_content", "retrieve_tool_memory": "thinking tool_name"}},
	} {
		o := &c.profile.Options
		o.Typed, o.Multiple, o.Thinking = true, false, true
		made, err := c.profile.Tools(&memories.LongTermService{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range made {
			var s struct{ Required []string }
			if err := json.Unmarshal(tool.Input, &s); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(s.Required, " "); got != c.want[tool.Name] {
				t.Errorf("%s requires %q, want %q", tool.Name, got, c.want[tool.Name])
			}
			if !strings.Contains(string(tool.Input), `"properties":{"thinking"`) {
				t.Errorf("%s: thinking does not come first: %s", tool.Name, tool.Input)
			}
		}
		if len(made) != len(c.want) {
			t.Errorf("%d tools, want %v", len(made), c.want)
		}
	}
	if got := strings.Join([]string{tools.Base("hand_off_agent"), tools.Base("retrieve_tool_memory"),
		tools.Base("skill_view")}, " "); got != "hands_off vector_retrieve_memory skill_view" {
		t.Error(got)
	}
}
