package intake

import (
	"strings"

	"cairn/internal/domain/transcript"
)

func chatGPT() Adapter {
	return Adapter{Name: "chatgpt", About: "conversations.json of a ChatGPT data export",
		Keys: []string{"mapping", "current_node", "title", "create_time", "conversation_id", "author", "content_type"},
		claim: func(r record) (level, string) {
			if child(r, "mapping") != nil || has(r, "mapping", "current_node") {
				return certain, "conversations with mapping"
			}
			return foreign, ""
		}, read: readChatGPT}
}

func readChatGPT(s *JSONSource, k *Sink) error {
	return s.Values(func(n JSONValue) error {
		o := n.Members()
		if !o["mapping"].IsObject() {
			if err := k.foreignRecord(n); err != nil {
				return err
			}
			return s.Bad(n, "a conversation without mapping")
		}
		e := export{talk: k.open(o.Str("title"))}
		e.talk.Session = o.First("conversation_id", "id").Str()
		e.read(o["mapping"].Members(), o.Str("current_node"))
		return nil
	})
}

// export reads the tree of one conversation.
type export struct {
	talk    *talk
	pairs   pairing
	thought []string // reasoning before a reply
}

// read reads the path from the root to the current jsonread.Value, and counts the other branches.
func (e *export) read(nodes JSONObject, current string) {
	if nodes[current].Absent() {
		current = newestNode(nodes)
	}
	var path []string
	onPath := map[string]bool{}
	for id := current; id != "" && !onPath[id] && !nodes[id].Absent(); id = nodes[id].Get("parent").Str() {
		onPath[id] = true
		path = append(path, id)
	}
	for i := len(path) - 1; i >= 0; i-- {
		if m := nodes[path[i]].Get("message"); m.IsObject() {
			e.message(m, m.Members())
		}
	}
	branches, messages := 0, 0
	for id, n := range nodes {
		if onPath[id] || !n.Get("message").IsObject() {
			continue
		}
		messages++
		if onPath[n.Get("parent").Str()] {
			branches++
		}
	}
	e.talk.sink.skip("abandoned branch", branches)
	e.talk.sink.skip("message of abandoned branches", messages)
	e.flush()
}

// flush keeps reasoning without a reply.
func (e *export) flush() {
	if len(e.thought) > 0 {
		m := transcript.Message{Role: transcript.Assistant}
		m.Reasoning = strings.Join(e.thought, "\n\n")
		e.talk.put(m)
		e.thought = nil
	}
}

// newestNode returns the newest leaf of a conversation that states none.
func newestNode(nodes JSONObject) (newest string) {
	latest := -1.0
	for id, n := range nodes {
		if n.Get("children").Count() > 0 {
			continue
		}
		at, _ := n.Path("message", "create_time").Number()
		if at > latest || at == latest && id > newest {
			newest, latest = id, at
		}
	}
	return newest
}

func (e *export) message(n JSONValue, o JSONObject) {
	k := e.talk.sink
	role, known := transcript.ParseRole(o["author"].Get("role").Str())
	if !known {
		k.unknown("author " + o["author"].Get("role").Str())
		e.talk.add(unknownRecord(k, n), n)
		return
	}
	body := o["content"].Members()
	c := content{sink: k}
	if !e.content(&c, o["content"], body) {
		return
	}
	recipient := o.Str("recipient")
	var m transcript.Message
	switch {
	case role == transcript.Assistant && recipient != "" && recipient != "all":
		c.calls = []transcript.ToolCall{e.pairs.call(transcript.ToolCall{ID: o.Str("id"), Name: recipient,
			Arguments: strings.Join(c.texts, "\n")})}
		c.texts = nil
		m = c.message(role)
	default:
		m = c.message(role)
	}
	if empty(m) && len(e.thought) == 0 {
		k.skip("empty message", 1)
		return
	}
	if role == transcript.Tool {
		m.Name = o["author"].Get("name").Str()
		m.ToolCallID = e.pairs.result("", m.Name)
		m.IsError = body.Str("content_type") == "system_error" ||
			o["metadata"].Path("aggregate_result", "status").Str() ==
				"failed_with_in_kernel_exception"
	} else {
		m.ID = o.Str("id")
	}
	if role == transcript.Assistant {
		m.Model = o["metadata"].Get("model_slug").Str()
		m.Reasoning = joinText(strings.Join(e.thought, "\n\n"), m.Reasoning, "\n\n")
		e.thought = nil
	}
	if role == transcript.User && body.Str("content_type") == "user_editable_context" {
		m.Origin = transcript.OriginHarness
	}
	m.Time = clock(o, "create_time")
	e.talk.add(m, n)
}

// content reads the content of a message. It returns false if it belongs to the next reply.
func (e *export) content(c *content, n JSONValue, body JSONObject) bool {
	c.sink.report.Parts++
	switch kind := body.Str("content_type"); kind {
	case "text", "multimodal_text":
		for _, part := range body["parts"].Items() {
			e.part(c, part)
		}
		if text := body["text"]; body["parts"].Absent() && text.IsString() {
			c.texts = append(c.texts, text.Str())
		}
	case "code", "execution_output", "computer_output":
		c.texts = append(c.texts, body["text"].Text())
	case "system_error":
		c.texts = append(c.texts, joinText(body.Str("name"), body.Str("text"), ": "))
	case "tether_browsing_display", "tether_quote", "sonic_webpage":
		for _, key := range []string{"title", "url", "summary", "result", "text"} {
			if text := body.Str(key); text != "" {
				c.texts = append(c.texts, text)
			}
		}
	case "thoughts":
		for _, t := range body["thoughts"].Items() {
			e.thought = append(e.thought, joinText(t.Get("summary").Str(), t.Get("content").Str(), ": "))
		}
		return false
	case "reasoning_recap":
		c.sink.skip(kind, 1)
		return false
	case "user_editable_context", "model_editable_context":
		for _, key := range []string{"user_profile", "user_instructions", "model_set_context"} {
			if text := body.Str(key); text != "" {
				c.texts = append(c.texts, text)
			}
		}
	default:
		c.other(n, compare(kind, "content without a type"))
	}
	return true
}

// part reads a part of a text with images or speech.
func (e *export) part(c *content, part JSONValue) {
	if part.IsString() {
		if text := part.Str(); text != "" {
			c.texts = append(c.texts, text)
		}
		return
	}
	o := part.Members()
	switch kind := o.Str("content_type"); kind {
	case "image_asset_pointer":
		c.add(transcript.Media{Kind: "image", URI: o.Str("asset_pointer")})
	case "audio_asset_pointer", "real_time_user_audio_video_asset_pointer":
		audio := o.First("audio_asset_pointer", "asset_pointer")
		pointer := audio.Str()
		if audio.IsObject() {
			pointer = audio.Get("asset_pointer").Str()
		}
		c.add(transcript.Media{Kind: "audio", URI: pointer})
	case "audio_transcription":
		c.texts = append(c.texts, o.Str("text"))
	default:
		c.other(part, compare(kind, "part without a type"))
	}
	c.sink.report.Parts++
}
