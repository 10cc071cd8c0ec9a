package guard

import (
	"fmt"
	"unicode/utf8"
)

// shortID is the number of runes of an ID that identify an entry.
const shortID = 8

// Sanitize returns the text of a stored entry in the form that can enter a prompt. Entries are
// scanned when they are written, but rows also come from imports, older rules and SQL, so they are
// scanned again on every load.
//
// A text with a dangerous finding is replaced by a line that names the store, the entry and the
// rule. Sanitize also returns the finding, for the metric and the quarantine. The entry stays
// stored for the user. Cautions pass, because they were accepted on write.
//
// The result depends only on the arguments, so that prompt caches stay valid.
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
