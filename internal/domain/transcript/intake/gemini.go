package intake

import (
	"regexp"
	"slices"
	"strings"

	"cairn/internal/domain/transcript"
)

func gemini() Adapter {
	return Adapter{Name: "gemini", About: "Gemini contents with parts, and sessions of the Gemini CLI",
		Keys: []string{"contents", "parts", "role", "functionCall", "functionResponse", "projectHash", "sessionId",
			"messages", "candidates"},
		claim: claimGemini, read: readGemini}
}

func claimGemini(r record) (level, string) {
	switch {
	case has(r, "projectHash", "sessionId"):
		return certain, "sessions with projectHash"
	case list(r, "contents") != nil:
		return certain, "requests with contents"
	case list(r, "candidates") != nil:
		return certain, "responses with candidates"
	case list(r, "parts") != nil && !has(r, "content"):
		return likely, "messages with parts"
	case text(r, "type") == "gemini" && has(r, "content"):
		return certain, "records of type gemini"
	case has(r, "$rewindTo"), has(r, "$set"):
		return likely, "updates of a session"
	case oneOf(text(r, "type"), "user info error warning") && has(r, "id", "timestamp", "content") && !has(r, "role"):
		return possible, "records of a session"
	}
	return foreign, ""
}

func readGemini(s *JSONSource, k *Sink) error {
	g := &contents{sink: k}
	return s.Values(func(n JSONValue) error {
		if !n.IsObject() {
			return s.Bad(n, "want an object with contents, parts or messages")
		}
		return g.record(n)
	})
}

// contents reads messages with parts.
type contents struct {
	sink  *Sink
	talk  *talk
	pairs pairing
	cli   map[string]bool // IDs of records of a CLI session
}

func (g *contents) open() {
	if g.talk == nil {
		g.talk = g.sink.open("")
	}
}

func (g *contents) record(n JSONValue) error {
	o := n.Members()
	switch {
	case o["projectHash"].IsString():
		g.talk, g.pairs, g.cli = g.sink.open(o.Str("summary")), pairing{}, map[string]bool{}
		g.talk.Session = o.Str("sessionId")
		return g.session(o["messages"])
	case o["contents"].IsArray(), o["candidates"].IsArray():
		if !o["contents"].Absent() || g.talk == nil {
			g.talk, g.pairs = g.sink.open(""), pairing{}
		}
		g.talk.model = compare(o.Str("model"), o.Str("modelVersion"))
		if system := o.First("systemInstruction", "system_instruction"); !system.Absent() {
			g.message(system, transcript.System)
		}
		for _, m := range o["contents"].Items() {
			if err := g.content(m); err != nil {
				return err
			}
		}
		for _, candidate := range o["candidates"].Items() {
			if err := g.content(candidate.Get("content")); err != nil {
				return err
			}
		}
		return nil
	case o["$rewindTo"].IsString():
		g.open()
		g.rewind(o.Str("$rewindTo"))
		return nil
	case o["$set"].IsObject():
		g.open()
		g.sink.skip("update", 1)
		if messages := o["$set"].Get("messages"); messages.IsArray() {
			g.sink.skip("replaced message", len(g.talk.Messages))
			g.talk.Messages, g.pairs, g.cli = nil, pairing{}, map[string]bool{}
			return g.session(messages)
		}
		return nil
	case o["parts"].IsArray():
		g.open()
		return g.content(n)
	case !o["type"].Absent() && !o["content"].Absent():
		g.open()
		return g.entry(n, o)
	}
	if err := g.sink.foreignRecord(n); err != nil {
		return err
	}
	g.sink.unknown(o.Str("type"))
	g.open()
	g.talk.add(unknownRecord(g.sink, n), n)
	return nil
}

func (g *contents) content(n JSONValue) error {
	text := compare(n.Get("role").Str(), "model")
	role, known := transcript.ParseRole(text)
	if !known {
		return unknownRole(g.sink.source, n, text)
	}
	g.message(n, role)
	return nil
}

// message reads parts. Each functionResponse becomes a message of its own.
func (g *contents) message(n JSONValue, role transcript.Role) {
	parts := n.Get("parts")
	if parts.Absent() {
		parts = n
	}
	before := len(g.talk.Messages)
	for _, m := range g.parts(parts, role) {
		g.talk.add(m, n)
	}
	if len(g.talk.Messages) == before && role != transcript.System {
		g.talk.add(transcript.Message{Role: role}, n)
	}
}

func (g *contents) parts(list JSONValue, role transcript.Role) (out []transcript.Message) {
	c := &content{sink: g.sink}
	flush := func() {
		if !c.empty() {
			out = append(out, c.message(role))
		}
		c = &content{sink: g.sink}
	}
	if !list.IsArray() {
		c.read(list)
	}
	for _, part := range list.Items() {
		if part.IsString() {
			c.texts = append(c.texts, part.Str())
			continue
		}
		o := part.Members()
		g.sink.report.Parts++
		if response := o.First("functionResponse", "function_response"); response.IsObject() {
			flush()
			out = append(out, g.response(response.Members()))
			continue
		}
		g.part(c, part, o)
	}
	flush()
	return out
}

func (g *contents) part(c *content, part JSONValue, o JSONObject) {
	call := o.First("functionCall", "function_call")
	text := o["text"]
	switch {
	case call.IsObject():
		f := call.Members()
		c.calls = append(c.calls, g.pairs.call(transcript.ToolCall{ID: f.Str("id"), Name: f.Str("name"),
			Arguments: compare(f["args"].Text(), "{}")}))
	case text.IsString() && o["thought"].IsTrue():
		c.think(text.Str())
	case text.IsString():
		c.texts = append(c.texts, text.Str())
	case hasMember(o, "inlineData", "inline_data", "fileData", "file_data"):
		data := o.First("inlineData", "inline_data", "fileData", "file_data").Members()
		kind, _, found := strings.Cut(data.First("mimeType", "mime_type").Str(), "/")
		if !found || !oneOf(kind, "image audio video") {
			kind = "file"
		}
		c.attach(kind, data)
	case o["executableCode"].IsObject():
		c.texts = append(c.texts, o["executableCode"].Get("code").Str())
	case o["codeExecutionResult"].IsObject():
		c.texts = append(c.texts, o["codeExecutionResult"].Get("output").Str())
	case o["thought"].IsTrue(), hasMember(o, "thoughtSignature", "thought_signature"):
		g.sink.skip("thought signature", 1)
	default:
		c.other(part, "part "+strings.Join(keysOf(part), "+"))
	}
}

func keysOf(n JSONValue) (out []string) {
	for key := range n.Fields() {
		out = append(out, key)
	}
	return out
}

// response reads a functionResponse. The interface names the keys output and error.
func (g *contents) response(o JSONObject) transcript.Message {
	m := transcript.Message{Role: transcript.Tool, Name: o.Str("name")}
	m.ToolCallID = g.pairs.result(o.Str("id"), m.Name)
	body := o["response"]
	m.Content = body.Text()
	fields := body.Members()
	for _, key := range []string{"output", "result", "error", "content"} {
		if value := fields[key]; len(fields) == 1 && value.Kind() != 0 {
			m.Content, m.IsError = value.Text(), key == "error"
		}
	}
	m.ExitCode = exitCode(m.Content)
	return m
}

// session reads the messages of a CLI session.
func (g *contents) session(messages JSONValue) error {
	for _, m := range messages.Items() {
		if err := g.entry(m, m.Members()); err != nil {
			return err
		}
	}
	return nil
}

// entry reads one record of a CLI session. A record with a known ID replaces the earlier one.
func (g *contents) entry(n JSONValue, o JSONObject) error {
	id, kind := o.Str("id"), o.Str("type")
	if g.cli == nil {
		g.cli = map[string]bool{}
	}
	switch kind {
	case "user", "gemini":
	case "info", "error", "warning":
		g.sink.skip(kind, 1)
		return nil
	default:
		if err := g.sink.foreignRecord(n); err != nil {
			return err
		}
		g.sink.unknown(kind)
		g.talk.add(unknownRecord(g.sink, n), n)
		return nil
	}
	var earlier []transcript.Message
	if at := g.indexOf(id); g.cli[id] && at >= 0 {
		earlier = slices.Clone(g.talk.Messages[at:])
		g.talk.Messages = g.talk.Messages[:at]
		g.sink.skip("earlier version of a record", 1)
	}
	g.cli[id] = id != ""
	role := transcript.User
	if kind == "gemini" {
		role = transcript.Assistant
	}
	g.turn(n, o, role)
	for _, m := range earlier { // records after the replaced one
		if m.ID != "" && m.ID != id {
			g.talk.put(m)
		}
	}
	return nil
}

func (g *contents) indexOf(id string) int {
	return slices.IndexFunc(g.talk.Messages, func(m transcript.Message) bool { return m.ID == id && id != "" })
}

func (g *contents) turn(n JSONValue, o JSONObject, role transcript.Role) {
	at := clock(o, "timestamp")
	made := g.parts(o["content"], role)
	if len(made) == 0 {
		made = []transcript.Message{{Role: role}}
	}
	made[0].ID = o.Str("id")
	if role == transcript.User && geminiHarness.MatchString(made[0].Content) {
		made[0].Origin = transcript.OriginHarness
	}
	last := &made[len(made)-1]
	var thoughts []string
	for _, t := range o["thoughts"].Items() {
		thoughts = append(thoughts, joinText(t.Get("subject").Str(), t.Get("description").Str(), ": "))
	}
	last.Reasoning = joinText(last.Reasoning, strings.Join(thoughts, "\n\n"), "\n\n")
	var results []transcript.Message
	for _, call := range o["toolCalls"].Items() {
		c := call.Members()
		last.ToolCalls = append(last.ToolCalls, transcript.ToolCall{ID: c.Str("id"), Name: c.Str("name"),
			Arguments: compare(c["args"].Text(), "{}")})
		results = append(results, g.toolResult(c)...)
		g.sink.report.Parts++
	}
	for _, m := range append(made, results...) {
		m.Model = o.Str("model")
		if m.Role != transcript.Assistant {
			m.Model = ""
		}
		if m.Time.IsZero() {
			m.Time = at
		}
		g.talk.add(m, n)
	}
}

// toolResult reads the result of a call of a CLI session.
func (g *contents) toolResult(c JSONObject) []transcript.Message {
	result := c["result"]
	if result.Absent() {
		return nil
	}
	if result.IsObject() {
		if response := result.Get("functionResponse"); response.IsObject() {
			m := g.response(response.Members())
			return []transcript.Message{completeResult(m, c)}
		}
	}
	var out []transcript.Message
	for _, m := range g.parts(result, transcript.Tool) {
		if len(out) > 0 && m.ToolCallID == "" { // text or images after the response
			out[0].Content = joinText(out[0].Content, m.Content, "\n")
			out[0].Media = append(out[0].Media, m.Media...)
			continue
		}
		out = append(out, completeResult(m, c))
	}
	return out
}

func completeResult(m transcript.Message, c JSONObject) transcript.Message {
	m.ToolCallID, m.Name = c.Str("id"), c.Str("name")
	m.IsError = m.IsError || c.Str("status") == "error"
	m.Time = clock(c, "timestamp")
	return m
}

// geminiHarness matches texts that the Gemini CLI wrote in the name of the user.
var geminiHarness = regexp.MustCompile(`^\s*(<session_context>|This is the Gemini CLI\.)`)

// rewind removes a record of a CLI session and those after it.
func (g *contents) rewind(id string) {
	at := g.indexOf(id)
	if at < 0 {
		at = 0
	}
	g.sink.skip("rewind", 1)
	g.sink.skip("message of rewound turns", len(g.talk.Messages)-at)
	g.talk.Messages = g.talk.Messages[:at]
}
