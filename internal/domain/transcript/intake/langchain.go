package intake

import (
	"slices"
	"strings"

	"cairn/internal/domain/transcript"
)

func langChain() Adapter {
	return Adapter{
		Name:  "langchain",
		About: "LangChain messages: messages_to_dict, dumps, and model_dump",
		Keys: []string{
			"type",
			"data",
			"lc",
			"kwargs",
			"additional_kwargs",
			"response_metadata",
			"content",
			"tool_calls",
		},
		inner: true,
		claim: claimLangChain,
		read:  readLangChain,
	}
}

func langGraph() Adapter {
	return Adapter{Name: "langgraph", About: "LangGraph states and histories of states (JSON)",
		Keys: []string{"values", "next", "config", "metadata", "created_at", "parent_config", "checkpoint", "messages"},
		claim: func(r record) (level, string) {
			if list(child(r, "values"), "messages") != nil {
				return certain, "states with values.messages"
			}
			if has(r, "values", "next") && hasAny(r, "config", "checkpoint", "metadata") {
				return certain, "states with values and next"
			}
			return foreign, ""
		}, read: readLangGraph}
}

const langChainTypes = "human ai system tool function chat developer remove HumanMessage AIMessage SystemMessage " +
	"ToolMessage FunctionMessage ChatMessage RemoveMessage HumanMessageChunk AIMessageChunk SystemMessageChunk " +
	"ToolMessageChunk FunctionMessageChunk ChatMessageChunk"

func claimLangChain(r record) (level, string) {
	if messages, ok := r["messages"]; ok && !hasAny(r, "mapping", "projectHash", "sessionId") {
		if _, isList := messages.([]any); !isList {
			return foreign, ""
		}
		best, reason := foreign, ""
		for _, m := range objects(list(r, "messages")) {
			if found, why := claimLangChainMessage(m); found > best {
				best, reason = found, why
			}
		}
		return best, reason
	}
	return claimLangChainMessage(r)
}

func claimLangChainMessage(m record) (level, string) {
	switch {
	case has(m, "lc", "kwargs"):
		return certain, "objects with lc and kwargs"
	case !oneOf(text(m, "type"), langChainTypes):
		return foreign, ""
	case has(m, "data") && len(m) <= 3:
		return certain, "messages with type and data"
	case text(m, "type") == "remove", has(m, "content") && !has(m, "message"):
		return likely, "messages of type " + text(m, "type")
	}
	return foreign, ""
}

func readLangChain(s *JSONSource, k *Sink) error {
	var loose *chain
	return s.Values(func(n JSONValue) error {
		o := n.Members()
		if messages := o["messages"]; messages.IsArray() {
			c := &chain{talk: k.open(o.Str("title"))}
			return c.list(messages)
		}
		if n.IsArray() {
			return (&chain{talk: k.open("")}).list(n)
		}
		if loose == nil {
			loose = &chain{talk: k.open("")}
		}
		return loose.read(n)
	})
}

// readLangGraph reads states. Of the states of one thread, the newest holds all messages.
func readLangGraph(s *JSONSource, k *Sink) error {
	type state struct {
		talk *talk
		at   string
	}
	newest := map[string]*state{}
	return s.Values(func(n JSONValue) error {
		o := n.Members()
		messages := o["values"].Get("messages")
		if !messages.IsArray() {
			if err := k.foreignRecord(n); err != nil {
				return err
			}
			k.skip("state without messages", 1)
			return nil
		}
		thread := compare(o["config"].Path("configurable", "thread_id").Str(), o["checkpoint"].Get("thread_id").Str())
		at := o.Str("created_at")
		known := newest[thread]
		if known == nil {
			known = &state{talk: k.open("")}
			known.talk.Session = thread
			newest[thread] = known
		} else {
			k.skip("older state", 1)
			if at == "" || at <= known.at {
				return nil
			}
			known.talk.Messages = nil
		}
		known.at = at
		return (&chain{talk: known.talk}).list(messages)
	})
}

// chain reads LangChain messages into a conversation.
type chain struct {
	talk   *talk
	chunks map[string]transcript.ToolCall // calls in pieces, by index
	order  []string
}

func (c *chain) list(messages JSONValue) error {
	for _, m := range messages.Items() {
		if err := c.read(m); err != nil {
			return err
		}
	}
	return nil
}

func (c *chain) read(n JSONValue) error {
	k := c.talk.sink
	o := n.Members()
	kind := o.Str("type")
	switch {
	case o["kwargs"].IsObject(): // the class is the end of the ID
		for _, name := range o["id"].Items() {
			kind = name.Str()
		}
		o = o["kwargs"].Members()
		if own := o.Str("type"); own != "" {
			kind = own
		}
	case o["data"].IsObject():
		o = o["data"].Members()
	case kind == "" && !o["role"].Absent():
		return readChatMessage(k.source, c.talk, n, o)
	}
	chunk := strings.HasSuffix(kind, "Chunk")
	kind = strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(kind, "Chunk"), "Message"))
	if kind == "remove" {
		c.remove(o.Str("id"))
		return nil
	}
	if kind == "chat" {
		kind = o.Str("role")
	}
	role, known := transcript.ParseRole(kind)
	if !known {
		if err := k.foreignRecord(n); err != nil {
			return err
		}
		k.unknown(compare(kind, "message without a type"))
		c.talk.add(unknownRecord(k, n), n)
		return nil
	}
	m := c.message(o, role)
	if last := len(c.talk.Messages) - 1; chunk && last >= 0 && m.ID != "" && c.talk.Messages[last].ID == m.ID {
		c.grow(&c.talk.Messages[last], m, o)
		return nil
	}
	c.chunks, c.order = nil, nil
	if chunk {
		c.pieces(&m, o)
	}
	c.talk.add(m, n)
	return nil
}

func (c *chain) message(o JSONObject, role transcript.Role) transcript.Message {
	k := c.talk.sink
	p := content{sink: k}
	extra := o["additional_kwargs"].Members()
	for _, call := range o["tool_calls"].Items() {
		p.calls = append(p.calls, chatCall(call.Members()))
	}
	for _, call := range o["invalid_tool_calls"].Items() {
		p.calls = append(p.calls, chatCall(call.Members()))
	}
	if len(p.calls) == 0 {
		for _, call := range extra["tool_calls"].Items() {
			p.calls = append(p.calls, chatCall(call.Members()))
		}
		if f := extra["function_call"]; f.IsObject() {
			p.calls = append(p.calls, chatCall(f.Members()))
		}
	}
	if body := o["content"]; body.IsArray() {
		for _, part := range body.Items() {
			c.part(&p, part)
		}
	} else if !p.read(body) {
		p.texts = append(p.texts, body.Text())
	}
	p.think(extra["reasoning_content"].Str())
	if !o["artifact"].Absent() {
		k.skip("artifact", 1)
	}
	m := p.message(role)
	m.ID, m.Name, m.ToolCallID = o.Str("id"), o.Str("name"), o.Str("tool_call_id")
	meta := o["response_metadata"].Members()
	m.Model = meta.First("model_name", "model").Str()
	m.IsError = role == transcript.Tool && o.Str("status") == "error"
	m.Time = clock(extra, "timestamp", "created_at")
	return m
}

// part reads a part of the content. Parts that repeat a call are left out.
func (c *chain) part(p *content, part JSONValue) {
	switch kind := part.Get("type").Str(); kind {
	case "tool_use", "tool_call", "function_call", "server_tool_call", "input_json_delta", "tool_call_chunk":
		id := compare(part.Get("id").Str(), part.Get("call_id").Str())
		known := slices.ContainsFunc(p.calls, func(call transcript.ToolCall) bool { return call.ID == id })
		if known || kind == "input_json_delta" || kind == "tool_call_chunk" {
			p.sink.skip("repeated call", 1)
			return
		}
		o := part.Members()
		p.calls = append(p.calls, transcript.ToolCall{ID: id, Name: o.Str("name"),
			Arguments: o.First("input", "args", "arguments").Text()})
	default:
		if part.IsString() {
			p.texts = append(p.texts, part.Str())
			return
		}
		p.part(part)
	}
}

// remove removes a message, or all, as RemoveMessage asks for.
func (c *chain) remove(id string) {
	before := len(c.talk.Messages)
	if id == "__remove_all__" {
		c.talk.Messages = nil
	} else {
		c.talk.Messages = slices.DeleteFunc(c.talk.Messages, func(m transcript.Message) bool { return m.ID == id })
	}
	c.talk.sink.skip("remove", 1)
	c.talk.sink.skip("removed message", before-len(c.talk.Messages))
}

// grow appends the next chunk of a message.
func (c *chain) grow(m *transcript.Message, next transcript.Message, o JSONObject) {
	m.Content += next.Content
	m.Reasoning += next.Reasoning
	m.Media = append(m.Media, next.Media...)
	m.Model = compare(m.Model, next.Model)
	c.pieces(m, o)
}

// pieces joins the pieces of calls of a chunk. Whole calls are in tool_calls.
func (c *chain) pieces(m *transcript.Message, o JSONObject) {
	for _, piece := range o["tool_call_chunks"].Items() {
		p := piece.Members()
		index := p["index"].Str()
		call, known := c.chunks[index]
		if !known {
			if c.chunks == nil {
				c.chunks = map[string]transcript.ToolCall{}
			}
			c.order = append(c.order, index)
		}
		call.ID, call.Name = compare(call.ID, p.Str("id")), compare(call.Name, p.Str("name"))
		call.Arguments += p.Str("args")
		c.chunks[index] = call
	}
	if len(c.order) == 0 {
		return
	}
	m.ToolCalls = nil
	for _, index := range c.order {
		m.ToolCalls = append(m.ToolCalls, c.chunks[index])
	}
}
