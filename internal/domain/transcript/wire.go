package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/fault"
)

// wireMessage is a chat message of the OpenAI API, with the field names that other exports use for
// the time.
type wireMessage struct {
	ID           json.RawMessage `json:"id"`
	Role         *string         `json:"role"`
	Content      json.RawMessage `json:"content"`
	Name         string          `json:"name"`
	ToolCalls    []wireCall      `json:"tool_calls"`
	FunctionCall *wireFunction   `json:"function_call"` // replaced by tool_calls in the API
	ToolCallID   string          `json:"tool_call_id"`
	Time         json.RawMessage `json:"ts"`
	Timestamp    json.RawMessage `json:"timestamp"`
	CreatedAt    json.RawMessage `json:"created_at"`
}

type wireCall struct {
	ID       string        `json:"id"`
	Function *wireFunction `json:"function"`
	wireFunction
}

type wireFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// message parses one chat message.
func message(e element) (Message, error) {
	var wire wireMessage
	if err := json.Unmarshal(e.raw, &wire); err != nil {
		return Message{}, fault.Wrap(err, fault.InvalidArgument, e.where+": not a chat message", formats)
	}
	if wire.Role == nil {
		return Message{}, fault.New(fault.InvalidArgument, e.where+": role is missing", roleHint)
	}
	role, ok := roles[strings.ToLower(strings.TrimSpace(*wire.Role))]
	if !ok {
		return Message{}, fault.New(fault.InvalidArgument, fmt.Sprintf("%s: unknown role %q", e.where, *wire.Role),
			roleHint)
	}
	content, err := flatten(wire.Content)
	if err != nil {
		return Message{}, fault.Wrap(err, fault.InvalidArgument, e.where,
			"send content as a string, null or an array of parts")
	}
	m := Message{ID: storable(scalar(wire.ID)), Role: role, Content: storable(content), Name: storable(wire.Name),
		ToolCallID: storable(wire.ToolCallID), Time: wire.time()}
	for _, call := range wire.ToolCalls {
		f := call.wireFunction
		if call.Function != nil {
			f = *call.Function
		}
		m.ToolCalls = append(m.ToolCalls, f.call(call.ID))
	}
	if f := wire.FunctionCall; f != nil {
		m.ToolCalls = append(m.ToolCalls, f.call(""))
	}
	return m, nil
}

func (f wireFunction) call(id string) ToolCall {
	return ToolCall{ID: storable(id), Name: storable(f.Name), Arguments: storable(f.text())}
}

// storable replaces NUL, which JSON can contain and Postgres cannot store.
func storable(text string) string { return strings.ReplaceAll(text, "\x00", "\ufffd") }

// text returns the arguments as the model wrote them: the JSON text in a string, or the object
// itself from clients that decode it.
func (f wireFunction) text() string {
	if kind(f.Arguments) == '"' {
		return scalar(f.Arguments)
	}
	var compact bytes.Buffer
	if len(f.Arguments) == 0 || json.Compact(&compact, f.Arguments) != nil {
		return ""
	}
	return compact.String()
}

func (w wireMessage) time() time.Time {
	for _, raw := range []json.RawMessage{w.Time, w.Timestamp, w.CreatedAt} {
		if t, ok := parseTime(scalar(raw)); ok {
			return t
		}
	}
	return time.Time{}
}

// part is one part of multimodal content.
type part struct {
	Type    string `json:"type"`
	Text    string `json:"text"`
	Refusal string `json:"refusal"`
}

// flatten converts a message's content to one text: text parts joined by newlines, and placeholders
// such as [image] for other parts.
func flatten(raw json.RawMessage) (string, error) {
	switch kind(raw) {
	case 0, 'n':
		return "", nil
	case '"':
		return scalar(raw), nil
	case '[':
	default:
		return "", fmt.Errorf("content is %.20s…", raw)
	}
	var texts []string
	for _, item := range items(element{raw: raw}, "") {
		if kind(item.raw) == '"' {
			texts = append(texts, scalar(item.raw))
			continue
		}
		var p part
		if err := json.Unmarshal(item.raw, &p); err != nil {
			return "", fmt.Errorf("content part%s: %w", item.where, err)
		}
		texts = append(texts, p.flat())
	}
	return strings.Join(texts, "\n"), nil
}

func (p part) flat() string {
	switch p.Type {
	case "text", "input_text", "output_text":
		return p.Text
	case "refusal":
		return p.Refusal
	case "":
		return "[part]"
	default:
		name := strings.TrimPrefix(p.Type, "input_")
		name = strings.TrimSuffix(name, "_url")
		return "[" + name + "]"
	}
}
