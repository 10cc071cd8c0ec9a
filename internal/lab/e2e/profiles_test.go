package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/settings"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/bench/profiles"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// Typed tools have the effect of the general tools that they replace, and the profile of the
// agent is stored with its run.
func TestTypedToolsRememberAndAnswer(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	mira := map[string]string{"memory_type": "personal", "memory_target": "mira"}
	for _, r := range []openaitest.Rule{
		{Stage: "summarize", Results: new(0),
			Calls: []llm.ToolCall{saying("add_meta_memory", mira),
				saying("summary_context", map[string]string{"summary": "Mira moved to Bergen."})}},
		{Stage: "summarize", Results: new(2), Calls: []llm.ToolCall{saying("hand_off_agent", mira)}},
		{Stage: "summarize", Reply: "Done."},
		{Stage: "specialist", Results: new(0),
			Calls: []llm.ToolCall{saying("retrieve_personal_memory", map[string]string{"query": "Bergen"})}},
		{Stage: "specialist", Results: new(1),
			Calls: []llm.ToolCall{saying("add_memory", map[string]string{"memory_content": "Mira lives in Bergen."})}},
		{Stage: "specialist", Reply: "Saved."},
		{Stage: "retrieve", Results: new(0), Calls: []llm.ToolCall{
			saying("retrieve_personal_memory", map[string]string{"memory_target": "mira",
				"query": "Where does Mira live"})}},
		{Stage: "retrieve", Reply: "It is in the memories."},
	} {
		b.Model.On(r)
	}
	chosen, err := profiles.Named([]string{"typed/none/single"})
	testkit.Must(t, err)
	rows, err := profiles.Measure(t.Context(), profiles.Of(b.App), chosen, t.Output())
	testkit.Must(t, err)
	if r := rows[0]; r.Status != "ok" || r.Memories != 1 || r.Failed > 0 || r.ToolCalls != 8 || r.Answered != 1 ||
		r.ModelCalls != 12 || r.Tokens == 0 {
		t.Errorf("%+v", r)
	}
	for _, c := range asked(b, "retrieve") {
		if !strings.Contains(string(c.Body), `"reasoning_effort":"none"`) ||
			strings.Contains(string(c.Body), "vector_retrieve_memory") {
			t.Errorf("asked %s", c.Body)
		}
	}
	traced := column[string](b, `select distinct concat(kind, ' ', spec->'pinned'->'profile'->'Options'->>'Typed', `+
		`' ', spec->'pinned'->'profile'->'Options'->>'Unthinking') from cairn.runs order by 1`)
	if fmt.Sprint(traced) != "[retrieve true true specialist true true summarize true true]" {
		t.Errorf("the runs' records: %q", traced)
	}
}

// With the offline model, each profile of tools and thinking saves a fact and finds it again.
func TestProfilesRememberAndAnswerWithoutAModel(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) { c.BaseURL, c.APIKey, c.Model = "", "", "" })
	chosen, err := profiles.Named([]string{"usual/param/multiple", "usual/native/single", "typed/param/single",
		"typed/tool/single"})
	testkit.Must(t, err)
	rows, err := profiles.Measure(t.Context(), profiles.Of(b.App), chosen, t.Output())
	testkit.Must(t, err)
	for _, r := range rows {
		// One call registers targets and one hands off. Three memories are added, and three
		// questions are searched with two targets each.
		if want := map[bool]int{true: 2 + 1 + 3,
			false: 2 + 3 + 3*2}[r.Calls == settings.MultipleCalls]; r.Status != "ok" || r.Memories != 3 ||
			r.Failed > 0 || r.Answered < 2 || r.ToolCalls != want {
			t.Errorf("%s: %+v, want %d calls of tools", r.Name(), r, want)
		}
	}
}
