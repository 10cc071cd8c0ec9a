package sessionwatch

import (
	"bytes"
	"encoding/json"
	"strings"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/transcript"
)

// identifiers are the members that join the records of a session. They are random, and masking them would lose the
// order of messages.
var identifiers = map[string]bool{"uuid": true, "parentUuid": true, "logicalParentUuid": true, "leafUuid": true,
	"sessionId": true, "session_id": true, "id": true, "message_id": true, "messageId": true, "tool_use_id": true,
	"sourceToolAssistantUUID": true, "parentToolUseID": true, "toolUseID": true, "call_id": true, "requestId": true,
	"agentId": true, "parent_thread_id": true, "forked_from_id": true, "projectHash": true, "type": true,
	"timestamp": true, "role": true}

// maxPair is the length of values, in bytes, that are also masked together with their name.
const maxPair = 512

// masker masks one file. Equal secrets get equal placeholders, so a file that has grown begins with the same bytes.
type masker struct {
	redactor *guard.Redactor
	counts   guard.Counts
}

// mask replaces the secrets of a session file. Lines of JSON stay valid JSON.
func mask(content []byte) ([]byte, guard.Counts) {
	m := &masker{guard.NewRedactor(guard.Options{}), guard.Counts{}}
	if json.Valid(content) {
		return append(m.document(content), '\n'), m.counts
	}
	var out bytes.Buffer
	for line := range bytes.Lines(content) {
		body := bytes.TrimRight(line, "\r\n")
		if json.Valid(body) {
			out.Write(m.document(body))
		} else {
			out.WriteString(m.redact(string(body)))
		}
		out.WriteByte('\n')
	}
	return out.Bytes(), m.counts
}

// redact masks a text. JSON text stays valid.
func (m *masker) redact(text string) string {
	masked, counts := m.redactor.Messages([]transcript.Message{{Content: text}})
	m.counts.Add(counts)
	return masked[0].Content
}

// document masks the texts of valid JSON.
func (m *masker) document(raw []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return []byte(m.redact(string(raw)))
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(m.value("", value)); err != nil { // a decoded value always encodes
		return []byte(m.redact(string(raw)))
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

func (m *masker) value(name string, value any) any {
	switch v := value.(type) {
	case string:
		return m.text(name, v)
	case []any:
		for i := range v {
			v[i] = m.value(name, v[i])
		}
	case map[string]any:
		return m.object(v)
	}
	return value
}

// object masks the members in the order of their names, so that placeholders have the same numbers each time.
func (m *masker) object(v map[string]any) map[string]any {
	out := make(map[string]any, len(v))
	for _, name := range sortedKeys(v) {
		out[m.redact(name)] = m.value(name, v[name])
	}
	return out
}

// text masks a value, and a short one also together with its name: a password is recognized by it.
func (m *masker) text(name, text string) string {
	if identifiers[name] || strings.TrimSpace(text) == "" {
		return text
	}
	text = m.redact(text)
	if name == "" || len(text) > maxPair {
		return text
	}
	pair, err := json.Marshal(map[string]string{name: text})
	if err != nil {
		return text
	}
	masked := m.redact(string(pair))
	var back map[string]string
	if masked == string(pair) || json.Unmarshal([]byte(masked), &back) != nil || len(back) != 1 {
		return text
	}
	return back[sortedKeys(back)[0]]
}
