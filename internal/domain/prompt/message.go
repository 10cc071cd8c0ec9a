package prompt

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Message is one transcript message for the model. Index is the number that the model cites.
type Message struct {
	Index     int      `json:"index"`
	Role      string   `json:"role"`
	Name      string   `json:"name,omitempty"`
	Content   string   `json:"content,omitempty"`
	ToolCalls []string `json:"tool_calls,omitempty"` // name(arguments)

	// Set for a day with several conversations:
	Conversation int    `json:"conversation,omitempty"` // number of the conversation, from 1
	At           string `json:"at,omitempty"`           // local time
	Reviewed     bool   `json:"reviewed,omitempty"`     // already reviewed for memories and skills
}

// plainMessage is a Message without its methods.
type plainMessage Message

// MarshalJSON renders content that is a JSON document without spaces as such. As a string, each of its quotes
// would need an escape, which costs a fifth of the tokens of most tool results.
func (m Message) MarshalJSON() ([]byte, error) {
	var content any
	switch {
	case isDocument(m.Content):
		content = json.RawMessage(m.Content)
	case m.Content != "":
		content = m.Content
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(struct {
		plainMessage
		Content any `json:"content,omitempty"`
	}{plainMessage(m), content})
	return out.Bytes(), err
}

// isDocument reports whether a text is an object or an array as encoding/json renders it.
func isDocument(text string) bool {
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return false
	}
	var compact bytes.Buffer
	return json.Compact(&compact, []byte(text)) == nil && compact.String() == text
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (m *Message) UnmarshalJSON(data []byte) error {
	in := struct {
		*plainMessage
		Content json.RawMessage `json:"content"`
	}{plainMessage: (*plainMessage)(m)}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	m.Content = string(in.Content)
	if bytes.HasPrefix(in.Content, []byte(`"`)) {
		return json.Unmarshal(in.Content, &m.Content)
	}
	if m.Content == "null" {
		m.Content = ""
	}
	return nil
}
