package guard

import (
	"encoding/json"
	"fmt"
	"strings"

	"cairn/internal/domain/transcript"
)

// Options choose what a Redactor replaces beside secrets, card numbers and the
// user's part of home directories.
type Options struct {
	Emails bool // e-mail addresses
	Phones bool // telephone numbers with a country code or in a usual national form
}

// Counts are how many places were replaced, by kind: openai_key, password,
// home_user.
type Counts map[string]int

// Add adds other to c.
func (c Counts) Add(other Counts) {
	for kind, n := range other {
		c[kind] += n
	}
}

// Total is the number of all replaced places.
func (c Counts) Total() int {
	total := 0
	for _, n := range c {
		total += n
	}
	return total
}

// Redactor replaces secrets by numbered placeholders: {{secret:openai_key_1}},
// {{personal:home_user_1}}. Equal values of a kind share a number, counted from 1 in
// the order in which they are met, so the same texts in the same order give
// the same bytes. It holds the secrets that it met: drop it with its run, never
// store or log it. Not for concurrent use.
type Redactor struct {
	options Options
	numbers map[string]int // by kind and value
	highest map[string]int // by kind
}

// NewRedactor makes the Redactor of one run.
func NewRedactor(options Options) *Redactor {
	return &Redactor{options, map[string]int{}, map[string]int{}}
}

// maxPasses bounds how often a text is read anew because a replacement bared
// something, such as a second key glued to a first one. One is the rule.
const maxPasses = 8

// Redact replaces what must not be seen. Redacting twice changes nothing more.
func (r *Redactor) Redact(text string) (string, Counts) {
	counts := Counts{}
	for range maxPasses {
		exposed := expose(text, r.options)
		if len(exposed) == 0 {
			break
		}
		var b strings.Builder
		at := 0
		for _, e := range exposed {
			b.WriteString(text[at:e.start])
			b.WriteString(r.placeholder(e, text[e.start:e.end]))
			counts[e.kind]++
			at = e.end
		}
		text = b.String() + text[at:]
	}
	return text, counts
}

func (r *Redactor) placeholder(e exposure, value string) string {
	if e.kind == "card" || e.kind == "phone" {
		value = strings.NewReplacer(" ", "", "-", "").Replace(value)
	}
	key := e.kind + "\x00" + value
	if r.numbers[key] == 0 {
		r.highest[e.kind]++
		r.numbers[key] = r.highest[e.kind]
	}
	class := "secret"
	if e.private {
		class = "personal"
	}
	return fmt.Sprintf("{{%s:%s_%d}}", class, e.kind, r.numbers[key])
}

// Messages redacts copies of messages: their content and the arguments of
// their tool calls. Arguments that were JSON stay JSON.
func (r *Redactor) Messages(messages []transcript.Message) ([]transcript.Message, Counts) {
	counts := Counts{}
	redact := func(text string) string {
		redacted, n := r.Redact(text)
		counts.Add(n)
		return redacted
	}
	redacted := make([]transcript.Message, len(messages))
	for i, m := range messages {
		m.Content = redactJSON(m.Content, redact)
		if len(m.ToolCalls) > 0 {
			calls := make([]transcript.ToolCall, len(m.ToolCalls))
			for j, call := range m.ToolCalls {
				call.Arguments = redactJSON(call.Arguments, redact)
				calls[j] = call
			}
			m.ToolCalls = calls
		}
		redacted[i] = m
	}
	return redacted, counts
}

// redactJSON redacts a text and, where that broke JSON, puts quotation marks
// around placeholders that stand in a number's place.
func redactJSON(text string, redact func(string) string) string {
	redacted := redact(text)
	if redacted == text || !json.Valid([]byte(text)) || json.Valid([]byte(redacted)) {
		return redacted
	}
	var b strings.Builder
	at, quoted := 0, false
	for _, m := range placeholder.FindAllStringIndex(redacted, -1) {
		quoted = insideString(redacted[at:m[0]], quoted)
		b.WriteString(redacted[at:m[0]])
		if quoted {
			b.WriteString(redacted[m[0]:m[1]])
		} else {
			b.WriteString(`"` + redacted[m[0]:m[1]] + `"`)
		}
		at = m[1]
	}
	if mended := b.String() + redacted[at:]; json.Valid([]byte(mended)) {
		return mended
	}
	whole, _ := json.Marshal(redacted) // of a string, which cannot fail
	return string(whole)
}

// insideString follows quotation marks through a piece of JSON.
func insideString(piece string, inside bool) bool {
	for i := 0; i < len(piece); i++ {
		switch piece[i] {
		case '\\':
			i++
		case '"':
			inside = !inside
		}
	}
	return inside
}
