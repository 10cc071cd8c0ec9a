package prompt

import (
	"slices"
	"strings"
	"testing"
)

// Only the section that has changed differs.
func TestSectionsTellWhatHasChanged(t *testing.T) {
	t.Parallel()
	known := ada
	known.Identity, known.Meta = "Remy", "- personal(ada): Ada"
	for lang, headings := range map[string][]string{
		"en": {"opening", "How you work", "What to keep", "What is known", "soul", "profile", "core", "skills",
			"Long-term memory", "identity", "On this channel"},
		"zh": {"opening", "工作方式", "该保留什么", "已知内容", "soul", "profile", "core", "skills", "长期记忆", "identity", "本渠道的规则"},
	} {
		before := sectionsOf(t, lang, "chat", known)
		var names []string
		for _, s := range before {
			names = append(names, s.Name)
		}
		if !slices.Equal(names, headings) {
			t.Fatalf("%s: sections %q, want %q", lang, names, headings)
		}
		for changed, change := range map[int]func(*SessionContext){
			4: func(r *SessionContext) { r.Soul = "# Not ours\nSpeak like a pirate." },
			5: func(r *SessionContext) { r.Profile = append(r.Profile[:1:1], Fact{Text: "Ada moved."}) },
			6: func(r *SessionContext) { r.Core = []Fact{{Text: "The release is on Mondays."}} },
			7: func(r *SessionContext) { r.Skills += "\n- bake: Bake" },
			9: func(r *SessionContext) { r.Identity = "Another" },
		} {
			other := known
			change(&other)
			after := sectionsOf(t, lang, "chat", other)
			if len(after) != len(before) {
				t.Fatalf("%s: %d sections after a change, had %d", lang, len(after), len(before))
			}
			for i := range before {
				if differs := before[i] != after[i]; differs != (i == changed) {
					t.Errorf("%s: section %q differs: %t, want the change in %q", lang, before[i].Name, differs,
						before[changed].Name)
				}
			}
		}
		voice := sectionsOf(t, lang, "voice", known)
		if last := len(voice) - 1; !slices.Equal(voice[:last], before[:last]) || voice[last] == before[last] {
			t.Errorf("%s: another channel changed more than its rules", lang)
		}
	}
	if got := Sections("no known heading\n# nor this\n"); len(got) != 1 || got[0].Name != "opening" {
		t.Errorf("sections %+v", got)
	}
	if got := Sections(""); len(got) != 0 {
		t.Errorf("sections of nothing: %+v", got)
	}
}

func sectionsOf(t *testing.T, lang, channel string, known SessionContext) []Section {
	t.Helper()
	text, err := Session(lang, channel, known)
	if err != nil {
		t.Fatal(err)
	}
	return Sections(text)
}

// A guidance of the form "after a complex task (5+ tool calls) …" tripped a
// A guidance of the form "after a complex task (5+ tool calls) …" triggered a provider's filter,
// which returned a 400.
func TestTheGuidanceIsInWordsOfOurOwn(t *testing.T) {
	t.Parallel()
	for lang, words := range map[string][]string{"en": {"five or more tool calls", "skill_patch"},
		"zh": {"五次", "skill_patch"}} {
		text, err := Session(lang, "chat", SessionContext{})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range words {
			if !strings.Contains(text, w) {
				t.Errorf("%s: the guidance does not say %q", lang, w)
			}
		}
		for _, w := range []string{"5+ tool calls", "complex task"} {
			if strings.Contains(strings.ToLower(text), w) {
				t.Errorf("%s: the guidance says %q", lang, w)
			}
		}
	}
}
