package prompt

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Both languages name the same tools, marks of the material and headings, and state the number of
// calls of a day.
func TestALookBackIsAskedForAlikeInBothLanguages(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`[^`]+`")
	words := func(lang string) []string {
		text, err := Reflection(lang, 15)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, "15") || strings.Contains(text, "{{") {
			t.Errorf("%s: %s", lang, text)
		}
		_, text, _ = strings.Cut(text, "`task`") // the text before it is shared with all prompts
		found := named.FindAllString(text, -1)
		slices.Sort(found)
		return slices.Compact(found)
	}
	en, zh := words("en"), words("zh")
	if !slices.Equal(en, zh) || !slices.Contains(en, "`note_append`") || !slices.Contains(en, "`reviewed`") {
		t.Errorf("English names %v, Chinese %v", en, zh)
	}
}

// The review before a compaction names the same tools and parts of the material in both languages,
// and only adds entries.
func TestAFlushIsAskedForAlikeInBothLanguages(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile("`[^`]+`")
	words := func(lang string) []string {
		text, err := Flush(lang, 2)
		if err != nil || !strings.Contains(text, "2") || strings.Contains(text, "{{") {
			t.Errorf("%s: %s, %v", lang, text, err)
		}
		_, text, _ = strings.Cut(text, "`messages`")
		found := named.FindAllString(text, -1)
		slices.Sort(found)
		return slices.Compact(found)
	}
	en, zh := words("en"), words("zh")
	if !slices.Equal(en, zh) || !slices.Contains(en, "`note_append`") || slices.Contains(en, "`memory_save`") {
		t.Errorf("English names %v, Chinese %v", en, zh)
	}
}
