package intake

import (
	"encoding/json"
	"regexp"
	"strings"

	"cairn/internal/domain/transcript"
)

func shareGPT() Adapter {
	return Adapter{Name: "sharegpt", About: "ShareGPT and Hermes conversations with from and value",
		Keys: []string{"conversations", "from", "value", "completed", "tools", "system"},
		claim: func(r record) (level, string) {
			if has(r, "from", "value") {
				return certain, "messages with from and value"
			}
			for _, m := range objects(list(r, "conversations")) {
				if has(m, "from") {
					return certain, "conversations with from and value"
				}
			}
			return foreign, ""
		}, read: readShareGPT}
}

func hermes() Adapter {
	return Adapter{
		Name:  "hermes",
		About: "sessions of the Hermes agent: `hermes sessions export FILE`",
		Keys: []string{
			"messages",
			"segments",
			"lineage_session_ids",
			"tool_name",
			"source",
			"started_at",
			"system_prompt",
		},
		claim: func(r record) (level, string) {
			if list(r, "messages") == nil {
				return foreign, ""
			}
			if has(r, "segments", "lineage_session_ids") {
				return certain, "sessions with segments"
			}
			if has(r, "id", "source", "started_at") {
				return certain, "sessions with source and started_at"
			}
			return foreign, ""
		},
		read: readHermes,
	}
}

func readShareGPT(s *JSONSource, k *Sink) error {
	var loose *share
	return s.Values(func(n JSONValue) error {
		if !n.IsObject() {
			return s.Bad(n, "want an object with conversations")
		}
		o := n.Members()
		if list := o["conversations"]; list.IsArray() {
			t := k.open("")
			t.Session, t.model = o.Str("id"), o.Str("model")
			if system := o["system"]; system.IsString() && system.Str() != "" {
				t.add(transcript.Message{Role: transcript.System, Content: system.Str()}, system)
			}
			sh := &share{talk: t}
			for _, m := range list.Items() {
				if err := sh.read(m); err != nil {
					return err
				}
			}
			return nil
		}
		if loose == nil {
			loose = &share{talk: k.open("")}
		}
		return loose.read(n)
	})
}

// share reads messages with from and value.
type share struct {
	talk  *talk
	pairs pairing
}

var shareRoles = map[string]transcript.Role{"gpt": transcript.Assistant, "chatgpt": transcript.Assistant,
	"bard": transcript.Assistant, "bing": transcript.Assistant, "function_call": transcript.Assistant,
	"observation": transcript.Tool, "function_response": transcript.Tool, "function-response": transcript.Tool,
	"tool_response": transcript.Tool}

func (sh *share) read(n JSONValue) error {
	k := sh.talk.sink
	o := n.Members()
	from := strings.ToLower(strings.TrimSpace(o.Str("from")))
	role, known := shareRoles[from]
	if !known {
		role, known = transcript.ParseRole(from)
	}
	if !known || o["value"].Kind() == 0 {
		if err := k.foreignRecord(n); err != nil {
			return err
		}
		return k.source.Bad(n, "unknown author %q, or no value", o.Str("from"))
	}
	value := o["value"].Text()
	switch {
	case from == "function_call":
		c := content{sink: k}
		sh.call(&c, value)
		sh.talk.add(c.message(role), n)
	case role == transcript.Assistant:
		sh.talk.add(sh.reply(value), n)
	case role == transcript.Tool:
		for _, m := range sh.results(value) {
			sh.talk.add(m, n)
		}
	default:
		sh.talk.add(transcript.Message{Role: role, Content: value}, n)
	}
	return nil
}

var (
	shareCall   = regexp.MustCompile(`(?s)<tool_call>(.*?)</tool_call>`)
	shareResult = regexp.MustCompile(`(?s)<tool_response>(.*?)</tool_response>`)
	shareThink  = regexp.MustCompile(`(?s)<(think|scratch_pad|SCRATCHPAD)>(.*?)</(?:think|scratch_pad|SCRATCHPAD)>`)
)

// reply divides a reply into text, reasoning and calls.
func (sh *share) reply(value string) transcript.Message {
	c := content{sink: sh.talk.sink}
	for _, m := range shareThink.FindAllStringSubmatch(value, -1) {
		c.think(strings.TrimSpace(m[2]))
	}
	value = shareThink.ReplaceAllString(value, "")
	for _, m := range shareCall.FindAllStringSubmatch(value, -1) {
		sh.call(&c, m[1])
	}
	if text := strings.TrimSpace(shareCall.ReplaceAllString(value, "")); text != "" {
		c.texts = append(c.texts, text)
	}
	return c.message(transcript.Assistant)
}

// call reads {"name", "arguments"}. Text of another form is kept as arguments of a call without a
// name.
func (sh *share) call(c *content, text string) {
	text = strings.TrimSpace(text)
	n, ok := parse(text)
	call := transcript.ToolCall{Arguments: text}
	if ok && n.IsObject() {
		call = chatCall(n.Members())
		if call.Arguments == "" {
			call.Arguments = n.Get("parameters").Text()
		}
	}
	c.calls = append(c.calls, sh.pairs.call(call))
}

// results divides a value into the results of single calls.
func (sh *share) results(value string) []transcript.Message {
	found := shareResult.FindAllStringSubmatch(value, -1)
	if found == nil {
		found = [][]string{{value, value}}
	}
	var out []transcript.Message
	for _, one := range found {
		m := transcript.Message{Role: transcript.Tool, Content: strings.TrimSpace(one[1])}
		id := ""
		if n, ok := parse(m.Content); ok && n.IsObject() {
			o := n.Members()
			if body := o["content"]; body.Kind() != 0 && hasMember(o, "name", "tool_call_id") {
				id, m.Name, m.Content = o.Str("tool_call_id"), o.Str("name"), body.Text()
			}
		}
		m.ToolCallID = sh.pairs.result(id, m.Name)
		out = append(out, m)
	}
	return out
}

// parse returns the value of JSON text that is not part of the input's own structure.
func parse(text string) (JSONValue, bool) {
	data := []byte(text)
	if !json.Valid(data) {
		return JSONValue{}, false
	}
	return NewChunk(data, 1).Root(""), true
}

func readHermes(s *JSONSource, k *Sink) error {
	return s.Values(func(n JSONValue) error {
		o := n.Members()
		if !o["messages"].IsArray() {
			if err := k.foreignRecord(n); err != nil {
				return err
			}
			return s.Bad(n, "a session without messages")
		}
		t := k.open(o.Str("title"))
		t.Session, t.Parent, t.model = o.Str("id"), o.Str("parent_session_id"), o.Str("model")
		if system := o["system_prompt"]; system.IsString() && system.Str() != "" {
			t.add(transcript.Message{Role: transcript.System, Content: system.Str()}, system)
		}
		if segments := o["segments"]; segments.IsArray() { // messages holds those of all segments
			k.skip("segment", segments.Count())
		}
		for _, m := range o["messages"].Items() {
			mo := m.Members()
			if string(mo["active"].Raw()) == "0" {
				k.skip("inactive message", 1)
				continue
			}
			if mo["name"].Absent() {
				mo["name"] = mo["tool_name"]
			}
			if calls := mo["tool_calls"]; calls.IsString() {
				mo["tool_calls"] = calls.Embedded()
			}
			if err := readChatMessage(s, t, m, mo); err != nil {
				return err
			}
			if last := &t.Messages[len(t.Messages)-1]; string(mo["compacted"].Raw()) == "1" &&
				last.Role == transcript.User {
				last.Origin = transcript.OriginSummary
			}
		}
		return nil
	})
}
