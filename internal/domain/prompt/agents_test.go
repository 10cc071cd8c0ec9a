package prompt

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

var agentNames = []string{"summarize", "retrieve", "specialist_personal", "specialist_procedural", "specialist_tool",
	"specialist_identity"}

// agentPrompts returns all prompts of agents in a language, with remy's session last.
func agentPrompts(t *testing.T, lang string) map[string]string {
	t.Helper()
	meta := "- personal(jinli): facts\n- procedural(a\\(b\\)): how"
	known := AgentContext{Now: "2026-03-01 10:00 (Sunday)", Identity: "A patient guide.", Meta: meta, Type: "personal",
		Target: "jinli"}
	out := map[string]string{}
	for _, name := range agentNames {
		text, err := Agent(lang, name, known)
		if err != nil {
			t.Fatal(err)
		}
		out["agent_"+name] = text
	}
	for name, part := range map[string]int{"agent_summarize_part": 2, "agent_summarize_end": 4} {
		known.Part, known.Parts = part, 3
		text, err := Agent(lang, "summarize", known)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = text
	}
	text, err := Session(lang, "chat", SessionContext{Identity: known.Identity, Meta: meta})
	if err != nil {
		t.Fatal(err)
	}
	out["agent_remy"] = text
	return out
}

func TestPromptsOfAgentsMatchGolden(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"en", "zh"} {
		for name, got := range agentPrompts(t, lang) {
			file := filepath.Join("testdata", name+"."+lang+".golden")
			if *update {
				if err := os.WriteFile(file, []byte(got+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got+"\n" != string(want) {
				t.Errorf("%s %s differs from %s; run go test -update and read the diff", name, lang, file)
			}
		}
	}
}

// Both languages must quote the same names.
func TestPromptsOfAgentsNameTheSameInBothLanguages(t *testing.T) {
	t.Parallel()
	quoted := regexp.MustCompile("`[^`]+`|<[A-Z_]+>")
	named := func(text string) []string {
		all := quoted.FindAllString(text, -1)
		slices.Sort(all)
		return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "`[date]`" || s == "`[日期]`" })
	}
	en, zh := agentPrompts(t, "en"), agentPrompts(t, "zh")
	for name := range en {
		if a, b := named(en[name]), named(zh[name]); !slices.Equal(a, b) {
			t.Errorf("%s: %q in English, %q in Chinese", name, a, b)
		}
	}
}
