package intake

import (
	"slices"
	"strings"

	"cairn/internal/domain/transcript"
)

func responses() Adapter {
	return Adapter{Name: "openai-responses", About: "OpenAI Responses: responses, requests, and lists of items",
		Keys:  []string{"output", "input", "call_id", "type", "arguments", "summary", "instructions"},
		claim: claimResponses, read: readResponses}
}

// responseItems are the types of items other than messages.
const responseItems = "function_call function_call_output custom_tool_call custom_tool_call_output local_shell_call " +
	"local_shell_call_output shell_call shell_call_output apply_patch_call apply_patch_call_output web_search_call " +
	"file_search_call code_interpreter_call image_generation_call computer_call computer_call_output mcp_call " +
	"mcp_list_tools mcp_approval_request mcp_approval_response reasoning tool_search_call tool_search_output"

func claimResponses(r record) (level, string) {
	if text(r, "object") == "response" && has(r, "output") {
		return certain, "response objects"
	}
	if text(r, "object") == "list" && has(r, "data") {
		r = record{"input": r["data"]}
	}
	if hasAny(r, "input", "output") && !hasAny(r, "observations", "type", "trace_id", "traceId") {
		best, reason := foreign, ""
		for _, key := range []string{"input", "output"} {
			for _, item := range objects(list(r, key)) {
				if found, why := claimItem(item); found > best {
					best, reason = found, why
				}
			}
		}
		return best, reason
	}
	return claimItem(r)
}

func claimItem(r record) (level, string) {
	kind := text(r, "type")
	switch {
	case hasAny(r, "payload", "uuid", "data", "kwargs", "sessionId"):
		return foreign, ""
	case oneOf(kind, responseItems) && hasAny(r, "call_id", "summary", "encrypted_content", "status", "action", "name"):
		return likely, kind + " items"
	case kind != "" && kind != "message" || !has(r, "role"):
		return foreign, ""
	}
	for _, p := range objects(list(r, "content")) {
		if oneOf(text(p, "type"), "input_text output_text input_image input_file") {
			return likely, text(p, "type") + " parts"
		}
	}
	if kind == "message" && !has(r, "stop_reason") && oneOf(text(r, "role"), "user assistant system developer") {
		return possible, "items of type message"
	}
	if oneOf(text(r, "role"), "user assistant system developer") && !hasAny(r, "tool_calls", "parts") &&
		list(r, "content") == nil {
		return possible, "messages with a role and content"
	}
	return foreign, ""
}

func readResponses(s *JSONSource, k *Sink) error {
	var loose *items
	return s.Values(func(n JSONValue) error {
		if !n.IsObject() {
			return s.Bad(n, "want an object with output or input, or an item")
		}
		o := n.Members()
		if !hasMember(o, "output", "input", "data") || o["type"].IsString() {
			if loose == nil {
				loose = &items{talk: k.open("")}
			}
			return loose.read(n, o)
		}
		t := k.open("")
		t.model, t.Session = o.Str("model"), o.Path("conversation", "id").Str()
		list := &items{talk: t}
		if text := o["instructions"]; text.IsString() && text.Str() != "" {
			t.add(transcript.Message{Role: transcript.System, Content: text.Str()}, text)
		}
		if text := o["input"]; text.IsString() {
			t.add(transcript.Message{Role: transcript.User, Content: text.Str()}, text)
		}
		for _, key := range []string{"input", "data", "output"} {
			for _, item := range o[key].Items() {
				if err := list.read(item, item.Members()); err != nil {
					return err
				}
			}
		}
		if key := o["data"]; !key.Absent() && o.Str("first_id") != "" {
			list.ascending(o)
		}
		return nil
	})
}

// items reads response items into a conversation. Items of one reply become one message.
type items struct {
	talk   *talk
	origin func(text string) transcript.Origin
	model  string
	codes  map[string]int    // exit codes by call, from other records
	time   string            // of the record around an item
	byItem map[string]string // call IDs by the IDs of their items
	open   bool              // the last message is a reply that calls can join
}

// ascending reverses a page that lists the newest item first.
func (l *items) ascending(o JSONObject) {
	ms := l.talk.Messages
	if len(ms) > 1 && ms[0].Role == transcript.Assistant && len(ms[0].ToolCalls) == 0 &&
		ms[len(ms)-1].Role == transcript.User {
		slices.Reverse(ms)
	}
}

func (l *items) read(n JSONValue, o JSONObject) error {
	k := l.talk.sink
	kind := o.Str("type")
	switch {
	case kind == "message", kind == "" && !o["role"].Absent():
		return l.message(n, o)
	case kind == "reasoning":
		l.reasoning(n, o)
	case kind == "function_call_output", strings.HasSuffix(kind, "_call_output"), kind == "tool_search_output":
		l.output(n, o, o.First("output", "tools"))
	case kind == "item_reference", kind == "ghost_snapshot", kind == "mcp_list_tools", kind == "compaction",
		kind == "compaction_summary", kind == "context_compaction":
		k.skip(kind, 1)
	case strings.HasSuffix(kind, "_call"), strings.HasPrefix(kind, "mcp_approval"):
		l.call(n, o, kind)
	default:
		if err := k.foreignRecord(n); err != nil {
			return err
		}
		k.unknown(kind)
		l.put(unknownRecord(k, n), n, o)
	}
	return nil
}

// put appends a message and closes the reply before it.
func (l *items) put(m transcript.Message, n JSONValue, o JSONObject) {
	if m.Time.IsZero() {
		m.Time = clock(o, "timestamp", "created_at")
	}
	if t, ok := transcript.ParseTime(l.time); l.time != "" && ok {
		m.Time = t
	}
	if m.Role == transcript.Assistant && m.Model == "" {
		m.Model = l.model
	}
	l.talk.add(m, n)
	l.open = m.Role == transcript.Assistant
}

// reply returns the message that a part of a reply joins, or a new one.
func (l *items) reply(n JSONValue, o JSONObject, joins func(m transcript.Message) bool) *transcript.Message {
	ms := l.talk.Messages
	if !l.open || !joins(ms[len(ms)-1]) {
		l.put(transcript.Message{Role: transcript.Assistant, ID: o.Str("id")}, n, o)
	}
	return &l.talk.Messages[len(l.talk.Messages)-1]
}

func (l *items) message(n JSONValue, o JSONObject) error {
	k := l.talk.sink
	role, known := transcript.ParseRole(o.Str("role"))
	if !known {
		return unknownRole(k.source, n, o.Str("role"))
	}
	b := blocks{sink: k, origin: l.origin}
	b.read(o["content"], role)
	for i, m := range b.messages {
		if role != transcript.Assistant {
			if i == 0 {
				m.ID = o.Str("id")
			}
			if m.Origin == transcript.OriginHuman {
				m.Origin = ""
			}
			l.put(m, n, o)
			continue
		}
		at := l.reply(n, o, func(m transcript.Message) bool { return m.Content == "" && len(m.ToolCalls) == 0 })
		*at = joined(*at, m)
	}
	return nil
}

func (l *items) reasoning(n JSONValue, o JSONObject) {
	c := content{sink: l.talk.sink}
	for _, key := range []string{"summary", "content"} {
		for _, part := range o[key].Items() {
			c.think(part.Get("text").Str())
		}
	}
	if o["encrypted_content"].IsString() {
		l.talk.sink.skip("encrypted reasoning", 1)
	}
	if len(c.reasoning) == 0 {
		return
	}
	at := l.reply(n, o, func(m transcript.Message) bool { return m.Content == "" && len(m.ToolCalls) == 0 })
	at.Reasoning = joinText(at.Reasoning, c.thought(), "\n\n")
}

// call reads a call of any kind. Calls of tools that the server runs carry their results.
func (l *items) call(n JSONValue, o JSONObject, kind string) {
	call := transcript.ToolCall{ID: o.First("call_id", "id").Str(), Name: o.Str("name"),
		Arguments: o.First("arguments", "input", "action", "operation", "queries", "code", "revised_prompt").Text()}
	if server := o.Str("server_label"); server != "" {
		call.Name = server + "." + call.Name
	}
	if namespace := o.Str("namespace"); namespace != "" {
		call.Name = namespace + "." + call.Name
	}
	if call.Name == "" {
		call.Name = strings.TrimSuffix(kind, "_call")
	}
	if l.byItem == nil {
		l.byItem = map[string]string{}
	}
	l.byItem[o.Str("id")] = call.ID
	at := l.reply(n, o, func(transcript.Message) bool { return true })
	at.ToolCalls = append(at.ToolCalls, call)
	l.talk.sink.report.Parts++
	if strings.HasPrefix(kind, "mcp_approval") || kind == "function_call" || kind == "custom_tool_call" {
		return
	}
	result := o.First("error", "output", "results", "outputs")
	if data := o["result"]; kind == "image_generation_call" && data.IsString() {
		c := content{sink: l.talk.sink}
		a := transcript.Media{Kind: "image"}
		bytesOf(&a, data.Str())
		c.add(a)
		m := c.message(transcript.Tool)
		m.ToolCallID = call.ID
		l.put(m, n, o)
	} else if !result.Absent() {
		l.output(n, o, result)
	}
}

// output reads the result of a call.
func (l *items) output(n JSONValue, o JSONObject, result JSONValue) {
	c := content{sink: l.talk.sink}
	if result.IsObject() { // {"content", "success"} of old Codex files, or the result itself
		if inner := result.Get("content"); inner.IsString() {
			c.texts = append(c.texts, inner.Str())
		} else {
			c.texts = append(c.texts, result.JSON())
		}
	} else if result.IsArray() && strings.HasSuffix(o.Str("type"), "_output") && isParts(result) {
		c.read(result)
	} else {
		c.texts = append(c.texts, result.Text())
	}
	m := c.message(transcript.Tool)
	m.ToolCallID = o.Str("call_id")
	if m.ToolCallID == "" {
		m.ToolCallID = compare(l.byItem[o.Str("id")], o.Str("id"))
	}
	m.IsError = !o["error"].Absent() || string(result.Get("success").Raw()) == "false" || o.Str("status") == "failed"
	m.ExitCode = exitCode(m.Content)
	if result.IsString() && m.ExitCode == nil {
		m.ExitCode = result.Embedded().Path("metadata", "exit_code").Integer()
	}
	if code, known := l.codes[m.ToolCallID]; known {
		m.ExitCode = &code
	}
	l.put(m, n, o)
}

// isParts reports whether an array holds parts of a message.
func isParts(list JSONValue) bool {
	for _, item := range list.Items() {
		if kind := item.Get("type").Str(); !strings.HasPrefix(kind, "input_") && !strings.HasPrefix(kind, "output_") &&
			kind != "text" {
			return false
		}
	}
	return true
}
