package reflection

import (
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/transcript"
)

// recalling are tools that return existing memories. Their results are not new.
var recalling = []string{"memory_search", "skill_list", "skill_view", "read_meta_memory", "vector_retrieve_memory",
	"read_history_memory", "read_identity_memory", "read_all_memory"}

// recalled matches blocks in which gateways give an agent its memories.
var recalled = regexp.MustCompile(`(?is)<(?:relevant|recalled|retrieved|cairn)?[_-]?(?:memory|memories|` +
	`recall)(?:[_-]?context)?\b[^>]*>.*?</(?:relevant|recalled|retrieved|cairn)?[_-]?(?:memory|memories|` +
	`recall)(?:[_-]?context)?\s*>`)

// forget removes recalled content from a message, so that memories are not learned again.
func forget(m transcript.Message) transcript.Message {
	if m.Role == transcript.Tool && slices.Contains(recalling, m.Name) {
		m.Content = "[recalled]"
		return m
	}
	m.Content = strings.TrimSpace(recalled.ReplaceAllString(m.Content, ""))
	return m
}
