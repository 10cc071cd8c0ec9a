package reflection

import (
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/transcript"
)

// recalling are tools that bring back what is known already: their results are
// no news of the day.
var recalling = []string{"memory_search", "skill_list", "skill_view", "read_meta_memory", "vector_retrieve_memory",
	"read_history_memory", "read_identity_memory", "read_all_memory"}

// recalled are blocks in which gateways hand an agent what they remember.
var recalled = regexp.MustCompile(`(?is)<(?:relevant|recalled|retrieved|cairn)?[_-]?(?:memory|memories|` +
	`recall)(?:[_-]?context)?\b[^>]*>.*?</(?:relevant|recalled|retrieved|cairn)?[_-]?(?:memory|memories|` +
	`recall)(?:[_-]?context)?\s*>`)

// forget takes out of a message what was recalled into it, so that nothing is
// learnt again from being remembered.
func forget(m transcript.Message) transcript.Message {
	if m.Role == transcript.Tool && slices.Contains(recalling, m.Name) {
		m.Content = "[recalled]"
		return m
	}
	m.Content = strings.TrimSpace(recalled.ReplaceAllString(m.Content, ""))
	return m
}
