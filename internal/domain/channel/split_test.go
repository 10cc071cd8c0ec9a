package channel_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"cairn/internal/domain/channel"
)

func units(text string) int { return len(utf16.Encode([]rune(text))) }

func TestSplitPrefersParagraphsThenLinesThenWords(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("word ", 16) // 80
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"short":      {"Hello", []string{"Hello"}},
		"empty":      {"\n\n", nil},
		"paragraphs": {word + "\n\n" + word, []string{strings.TrimSpace(word) + " ", word}},
		"lines":      {word + "\n" + word, []string{strings.TrimSpace(word) + " ", word}},
	} {
		got := channel.Split(c.text, 100)
		if len(got) != len(c.want) {
			t.Errorf("%s: %q", name, got)
			continue
		}
		for i := range got {
			if strings.TrimSpace(got[i]) != strings.TrimSpace(c.want[i]) {
				t.Errorf("%s: part %d is %q, want %q", name, i, got[i], c.want[i])
			}
		}
	}
	for _, part := range channel.Split(strings.Repeat("word ", 100), 100) {
		if strings.Contains(part, "wordword") || strings.HasPrefix(part, "ord") {
			t.Errorf("a word is divided: %q", part)
		}
	}
}

func TestSplitKeepsLinksAndGraphemes(t *testing.T) {
	t.Parallel()
	link := "[the long name of a page](https://example.org/a/very/long/path/of/a/page)"
	for _, part := range channel.Split(strings.Repeat("word ", 12)+link+strings.Repeat(" word", 20), 100) {
		if strings.Contains(part, "[") != strings.Contains(part, "/page)") {
			t.Errorf("the link is divided: %q", part)
		}
	}
	family := "👩‍👩‍👧" // 8 UTF-16 units
	for _, part := range channel.Split(strings.Repeat(family, 100), 100) {
		if strings.Replace(part, family, "", -1) != "" {
			t.Errorf("a grapheme is divided: %q", part)
		}
	}
}

func TestSplitReopensFences(t *testing.T) {
	t.Parallel()
	text := "Look:\n\n````go\n" + strings.Repeat("fmt.Println(1)\n", 30) + "````\nDone."
	parts := channel.Split(text, 120)
	for i, part := range parts {
		if strings.Count(part, "````")%2 != 0 {
			t.Errorf("part %d leaves a fence open: %q", i, part)
		}
		if i > 0 && strings.Contains(part, "Println") && !strings.HasPrefix(part, "````go\n") {
			t.Errorf("part %d does not begin the fence again: %q", i, part)
		}
	}
	if n := strings.Count(strings.Join(parts, "\n"), "fmt.Println(1)"); n != 30 {
		t.Errorf("%d of 30 lines are left", n)
	}
}

// Any text: parts are within the limit, are valid, and lose nothing but space and fences.
func TestSplitLosesNothing(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{
		"word",
		" ",
		" ",
		"\n",
		"\n\n",
		"```",
		"\n```go\n",
		"~~~",
		"é",
		"界",
		"👩‍👩‍👧",
		"[a](https://x.org/b)",
		"https://example.org/" + strings.Repeat("p", 90),
		"*bold*",
		"|",
		"\t",
		"e\u0301",
		strings.Repeat("x", 130),
	}
	plain := func(text string) string {
		return strings.Join(strings.Fields(strings.NewReplacer("`", "", "~", "", "go", "").Replace(text)), "")
	}
	for range 3000 {
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		text, limit := b.String(), 100+r.IntN(100)
		parts := channel.Split(text, limit)
		for _, part := range parts {
			if units(part) > limit || !utf8.ValidString(part) || strings.TrimSpace(part) == "" {
				t.Fatalf("limit %d: part %q of %q", limit, part, text)
			}
		}
		if got := plain(strings.Join(parts, "\n")); !contains(got, plain(text)) {
			t.Fatalf("limit %d: %q became %q", limit, text, parts)
		}
	}
}

// contains reports whether a text has the characters of another one in their order. The lines that begin a fence
// again are more.
func contains(text, other string) bool {
	for _, want := range other {
		i := strings.IndexRune(text, want)
		if i < 0 {
			return false
		}
		text = text[i+utf8.RuneLen(want):]
	}
	return true
}
