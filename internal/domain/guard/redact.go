package guard

import (
	"encoding/json"
	"fmt"
	"strings"

	"cairn/internal/domain/transcript"
)

// Options select what a Redactor replaces in addition to secrets, card numbers and the user names
// in home directories.
type Options struct {
	Emails bool // e-mail addresses
	Phones bool // telephone numbers with a country code or in a usual national form
}

// Counts are the numbers of replaced positions by kind, such as openai_key, password or home_user.
type Counts map[string]int

// Add adds other to c.
func (c Counts) Add(other Counts) {
	for kind, n := range other {
		c[kind] += n
	}
}

// Total returns the number of all replaced positions.
func (c Counts) Total() int {
	total := 0
	for _, n := range c {
		total += n
	}
	return total
}

// Redactor replaces secrets with numbered placeholders: {{secret:openai_key_1}},
// {{personal:home_user_1}}. Equal values of a kind share a number, counted from 1 in order of
// occurrence. The same texts in the same order therefore give the same bytes.
//
// A Redactor holds the secrets that it found. Discard it with its run, and never store or log it.
// It is not safe for concurrent use.
type Redactor struct {
	options Options
	numbers map[string]int // by kind and value
	highest map[string]int // by kind
}

// NewRedactor returns the Redactor of one run.
func NewRedactor(options Options) *Redactor {
	return &Redactor{options, map[string]int{}, map[string]int{}}
}

// maxPasses limits the passes over a text. A replacement can expose another value, such as a second
// key directly after the first one. Usually one pass is enough.
const maxPasses = 8

// Redact replaces secrets and private data. A second call changes nothing.
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

// Messages redacts copies of messages: their content and the arguments of their tool calls.
// Arguments that are valid JSON stay valid.
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

// redactJSON redacts a text. If that breaks JSON, it quotes the placeholders that replaced numbers.
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
	if whole := b.String() + redacted[at:]; json.Valid([]byte(whole)) {
		return whole
	}
	whole, _ := json.Marshal(redacted) // marshaling a string cannot fail
	return string(whole)
}

// insideString follows the quotation marks of a part of a JSON text.
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
