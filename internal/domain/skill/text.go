package skill

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// clean normalizes a text from a model or a file: valid UTF-8, NFC, LF newlines, no control
// characters except newline and tab, trimmed.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
	return strings.TrimSpace(norm.NFC.String(text))
}

// collapse returns a text as one line: every run of white space becomes one space.
func collapse(text string) string { return strings.Join(strings.Fields(text), " ") }

// cut shortens a text to at most limit runes and trims it.
func cut(text string, limit int) string {
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return strings.TrimSpace(string([]rune(text)[:limit]))
}

// fold returns equal texts for texts that look equal to a reader: NFKC, case folded, white space
// collapsed.
func fold(text string) string {
	text = cases.Fold().String(norm.NFKC.String(text))
	return collapse(norm.NFKC.String(text))
}

// distinct keeps the first of equal items and removes empty ones.
func distinct(items []string) []string {
	var kept []string
	seen := map[string]bool{}
	for _, item := range items {
		key := fold(item)
		if key == "" || seen[key] {
			continue
		}
		seen[key] = true
		kept = append(kept, item)
	}
	return kept
}
