package intake

import (
	"strings"

	"cairn/internal/domain/transcript"
)

func anthropic() Adapter {
	return Adapter{Name: "anthropic", About: "Anthropic Messages: requests, responses and lists of messages",
		Keys:  []string{"messages", "role", "content", "tool_use_id", "input", "is_error", "system", "stop_reason"},
		inner: true, claim: claimAnthropic, read: readAnthropic}
}

const anthropicBlocks = "tool_use tool_result thinking redacted_thinking server_tool_use mcp_tool_use " +
	"mcp_tool_result web_search_tool_result code_execution_tool_result"

func claimAnthropic(r record) (level, string) {
	if messages, ok := r["messages"]; ok {
		if _, isList := messages.([]any); !isList ||
			hasAny(r, "mapping", "response", "trajectory_format", "projectHash") {
			return foreign, ""
		}
		best, reason := possible, "an object with messages"
		if has(r, "system") {
			best, reason = likely, "an object with system and messages"
		}
		for _, m := range objects(list(r, "messages")) {
			if found, why := claimAnthropicMessage(m); found > best {
				best, reason = found, why
			}
		}
		return best, reason
	}
	return claimAnthropicMessage(r)
}

func claimAnthropicMessage(m record) (level, string) {
	if !oneOf(text(m, "role"), "user assistant") ||
		hasAny(m, "tool_calls", "tool_call_id", "function_call", "parts", "uuid", "reasoning_content") {
		return foreign, ""
	}
	if m["type"] == "message" && has(m, "stop_reason") {
		return likely, "responses with stop_reason"
	}
	best, reason := possible, "messages with a role and content"
	for _, b := range objects(list(m, "content")) {
		kind := text(b, "type")
		switch {
		case oneOf(kind, anthropicBlocks):
			best, reason = likely, kind+" blocks"
		case oneOf(kind, "image_url input_audio input_text output_text file"):
			return foreign, ""
		}
	}
	return best, reason
}

func readAnthropic(s *JSONSource, k *Sink) error {
	var loose *talk
	return s.Values(func(n JSONValue) error {
		if n.IsArray() {
			return readAnthropicList(s, k.open(""), n)
		}
		if !n.IsObject() {
			return s.Bad(n, "want an object with messages, or with role and content")
		}
		o := n.Members()
		if messages := o["messages"]; messages.IsArray() {
			t := k.open(o.Str("title"))
			t.model, t.Session = o.Str("model"), o.First("session_id", "conversation_id").Str()
			readAnthropicSystem(t, o["system"])
			return readAnthropicList(s, t, messages)
		}
		if o["role"].Absent() {
			if err := k.foreignRecord(n); err != nil {
				return err
			}
			return s.Bad(n, "neither messages nor role")
		}
		if loose == nil {
			loose = k.open("")
		}
		return readAnthropicMessage(s, loose, n)
	})
}

func readAnthropicSystem(t *talk, system JSONValue) {
	if system.Absent() {
		return
	}
	c := content{sink: t.sink}
	c.read(system)
	if !c.empty() {
		t.add(c.message(transcript.System), system)
	}
}

func readAnthropicList(s *JSONSource, t *talk, messages JSONValue) error {
	for _, m := range messages.Items() {
		if err := readAnthropicMessage(s, t, m); err != nil {
			return err
		}
	}
	return nil
}

func readAnthropicMessage(s *JSONSource, t *talk, n JSONValue) error {
	o := n.Members()
	role, known := transcript.ParseRole(o.Str("role"))
	if !known {
		if err := t.sink.foreignRecord(n); err != nil {
			return err
		}
		return unknownRole(s, n, o.Str("role"))
	}
	if kind := o["content"].Kind(); kind == '{' || kind == 0 {
		return s.Bad(n, "content must be a text or a list of blocks")
	}
	b := blocks{sink: t.sink}
	b.read(o["content"], role)
	for i, m := range b.messages {
		if i == 0 {
			m.ID = o.Str("id")
		}
		m.Model = o.Str("model")
		m.Time = clock(o, "timestamp", "created_at")
		t.add(m, n)
	}
	return nil
}

// blocks divides the content of an Anthropic message: each result becomes a message of its own, and
// what is between results stays together.
type blocks struct {
	sink     *Sink
	messages []transcript.Message
	// origin returns the author of a text with the role user. If it is nil, texts have none.
	origin func(text string) transcript.Origin
	kept   *content // parts since the last message
	author transcript.Origin
}

// flush makes a message of the parts since the last one.
func (b *blocks) flush(role transcript.Role) {
	if b.kept != nil && !b.kept.empty() {
		m := b.kept.message(role)
		m.Origin = b.author
		b.messages = append(b.messages, m)
	}
	b.kept, b.author = &content{sink: b.sink}, ""
}

// turn makes a message of what came before a text of another author.
func (b *blocks) turn(role transcript.Role, text string) {
	if b.origin == nil || role != transcript.User {
		return
	}
	author := b.origin(text)
	if len(b.kept.texts) > 0 && author != b.author {
		b.flush(role)
	}
	b.author = author
}

func (b *blocks) read(n JSONValue, role transcript.Role) {
	b.flush(role)
	if !n.IsArray() {
		b.turn(role, n.Str())
		b.kept.read(n)
	}
	for _, item := range n.Items() {
		b.block(item, role)
	}
	b.flush(role)
	if len(b.messages) == 0 { // without content
		b.messages = append(b.messages, transcript.Message{Role: role})
	}
}

func (b *blocks) block(item JSONValue, role transcript.Role) {
	if item.IsString() {
		b.turn(role, item.Str())
		b.kept.texts = append(b.kept.texts, item.Str())
		return
	}
	o := item.Members()
	switch kind := o.Str("type"); {
	case kind == "tool_use", kind == "server_tool_use", kind == "mcp_tool_use":
		b.sink.report.Parts++
		b.kept.calls = append(b.kept.calls, transcript.ToolCall{ID: o.Str("id"), Name: o.Str("name"),
			Arguments: o["input"].Text()})
	case kind == "tool_result", strings.HasSuffix(kind, "_tool_result"):
		b.flush(role)
		b.messages = append(b.messages, b.result(o))
	case kind == "search_result":
		b.sink.report.Parts++
		b.kept.texts = append(b.kept.texts, strings.TrimSpace(o.Str("title")+"\n"+o.Str("source")))
		b.kept.read(o["content"])
	default:
		if text := o["text"]; text.IsString() {
			b.turn(role, text.Str())
		}
		b.kept.part(item)
	}
}

// result returns the message of a tool_result block. Results of tools that the server runs are
// objects, which are kept as JSON text.
func (b *blocks) result(o JSONObject) transcript.Message {
	c := &content{sink: b.sink}
	body := o["content"]
	if o.Str("type") == "tool_result" || o.Str("type") == "mcp_tool_result" {
		if !c.read(body) {
			c.texts = append(c.texts, body.Text())
		}
	} else {
		c.texts = append(c.texts, body.Text())
	}
	m := c.message(transcript.Tool)
	m.ToolCallID = o.Str("tool_use_id")
	m.IsError = o["is_error"].IsTrue() || strings.HasSuffix(body.Get("type").Str(), "_error")
	if code := body.Get("return_code"); code.Kind() != 0 {
		m.ExitCode = code.Integer()
	}
	return m
}
