package guard

import (
	"fmt"
	"unicode/utf8"
)

// shortID is how many runes of an id tell a reader which entry is meant.
const shortID = 8

// Sanitize gives the text of a kept entry as it may enter a prompt. What is
// kept was scanned when it was written, but rows also come from imports, older
// rules and SQL, so it is scanned again whenever it is loaded. A text with a
// dangerous finding becomes a line that names the store, the entry and the
// rule, and the finding is returned for the metric and the quarantine; the
// entry itself is kept for the user to look at. Cautions pass: they were
// accepted when the text was written.
//
// The same text always gives the same answer, so a prompt that is cached stays
// cached.
func Sanitize(store, id, text string) (string, *Finding) {
	for _, f := range Scan(text, Strict) {
		if f.Severity == Dangerous {
			return fmt.Sprintf("[blocked: %s entry %s, %s]", store, abbreviated(id), f.ID), &f
		}
	}
	return text, nil
}

func abbreviated(id string) string {
	if utf8.RuneCountInString(id) <= shortID {
		return id
	}
	return string([]rune(id)[:shortID])
}
