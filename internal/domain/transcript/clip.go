package transcript

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/prompt"
)

// Shares of the limit, in percent, that Clip keeps from each end. The remaining tenth is for the
// marker.
const (
	headShare = 60
	tailShare = 30
)

// Clip shortens content to about chars runes: the beginning, the number of omitted characters, and
// the end. If chars is 0 or less, it returns content unchanged.
func Clip(content string, chars int) string {
	total := utf8.RuneCountInString(content)
	if chars <= 0 || total <= chars {
		return content
	}
	head, tail := chars*headShare/100, chars*tailShare/100
	runes := []rune(content)
	return fmt.Sprintf("%s\n[… %d characters left out …]\n%s",
		string(runes[:head]), total-head-tail, string(runes[total-tail:]))
}

// Empty reports whether a message has no text and no calls.
func (m Message) Empty() bool {
	return len(m.ToolCalls) == 0 && strings.TrimSpace(m.Content) == ""
}

// NonEmpty returns the messages that are not empty, with their Seq.
func NonEmpty(messages []Message) []Message {
	kept := make([]Message, 0, len(messages))
	for _, m := range messages {
		if !m.Empty() {
			kept = append(kept, m)
		}
	}
	return kept
}

// Material converts messages for a model, without empty ones. Index is the message's Seq. Tool
// output is cleaned; it and arguments of calls are cut to chars runes. Texts of users and assistants are never
// clipped.
func Material(messages []Message, chars int) []prompt.Message {
	kept := NonEmpty(messages)
	rendered := make([]prompt.Message, len(kept))
	for i, m := range kept {
		content := m.Content
		if m.Role == Tool {
			content = CleanOutput(content, chars)
		}
		rendered[i] = prompt.Message{Index: m.Seq, Role: m.Speaker(), Name: m.Name, Content: content}
		for _, call := range m.ToolCalls {
			rendered[i].ToolCalls = append(rendered[i].ToolCalls, call.Name+"("+Clip(call.Arguments, chars)+")")
		}
	}
	return rendered
}
