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

func readChatGPT(s *Source, k *Sink) error {
	return s.values(func(n node) error {
		o := n.members()
		if !o["mapping"].isObject() {
			if err := k.foreignRecord(n); err != nil {
				return err
			}
			return s.bad(n, "a conversation without mapping")
		}
		e := export{talk: k.open(o.str("title"))}
		e.talk.Session = o.first("conversation_id", "id").str()
		e.read(o["mapping"].members(), o.str("current_node"))
		return nil
	})
}

// export reads the tree of one conversation.
type export struct {
	talk    *talk
	pairs   pairing
	thought []string // reasoning before a reply
}

// read reads the path from the root to the current node, and counts the other branches.
func (e *export) read(nodes object, current string) {
	if nodes[current].absent() {
		current = newestNode(nodes)
	}
	var path []string
	onPath := map[string]bool{}
	for id := current; id != "" && !onPath[id] && !nodes[id].absent(); id = nodes[id].get("parent").str() {
		onPath[id] = true
		path = append(path, id)
	}
	for i := len(path) - 1; i >= 0; i-- {
		if m := nodes[path[i]].get("message"); m.isObject() {
			e.message(m, m.members())
		}
	}
	branches, messages := 0, 0
	for id, n := range nodes {
		if onPath[id] || !n.get("message").isObject() {
			continue
		}
		messages++
		if onPath[n.get("parent").str()] {
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
func newestNode(nodes object) (newest string) {
	latest := -1.0
	for id, n := range nodes {
		if n.get("children").count() > 0 {
			continue
		}
		at, _ := n.path("message", "create_time").number()
		if at > latest || at == latest && id > newest {
			newest, latest = id, at
		}
	}
	return newest
}

func (e *export) message(n node, o object) {
	k := e.talk.sink
	role, known := transcript.ParseRole(o["author"].get("role").str())
	if !known {
		k.unknown("author " + o["author"].get("role").str())
		e.talk.add(unknownRecord(k, n), n)
		return
	}
	body := o["content"].members()
	c := content{sink: k}
	if !e.content(&c, o["content"], body) {
		return
	}
	recipient := o.str("recipient")
	var m transcript.Message
	switch {
	case role == transcript.Assistant && recipient != "" && recipient != "all":
		c.calls = []transcript.ToolCall{e.pairs.call(transcript.ToolCall{ID: o.str("id"), Name: recipient,
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
		m.Name = o["author"].get("name").str()
		m.ToolCallID = e.pairs.result("", m.Name)
		m.IsError = body.str("content_type") == "system_error" ||
			o["metadata"].path("aggregate_result", "status").str() ==
				"failed_with_in_kernel_exception"
	} else {
		m.ID = o.str("id")
	}
	if role == transcript.Assistant {
		m.Model = o["metadata"].get("model_slug").str()
		m.Reasoning = joinText(strings.Join(e.thought, "\n\n"), m.Reasoning, "\n\n")
		e.thought = nil
	}
	if role == transcript.User && body.str("content_type") == "user_editable_context" {
		m.Origin = transcript.OriginHarness
	}
	m.Time = clock(o, "create_time")
	e.talk.add(m, n)
}

// content reads the content of a message. It returns false if it belongs to the next reply.
func (e *export) content(c *content, n node, body object) bool {
	c.sink.report.parts++
	switch kind := body.str("content_type"); kind {
	case "text", "multimodal_text":
		for _, part := range body["parts"].items() {
			e.part(c, part)
		}
		if text := body["text"]; body["parts"].absent() && text.isString() {
			c.texts = append(c.texts, text.str())
		}
	case "code", "execution_output", "computer_output":
		c.texts = append(c.texts, body["text"].text())
	case "system_error":
		c.texts = append(c.texts, joinText(body.str("name"), body.str("text"), ": "))
	case "tether_browsing_display", "tether_quote", "sonic_webpage":
		for _, key := range []string{"title", "url", "summary", "result", "text"} {
			if text := body.str(key); text != "" {
				c.texts = append(c.texts, text)
			}
		}
	case "thoughts":
		for _, t := range body["thoughts"].items() {
			e.thought = append(e.thought, joinText(t.get("summary").str(), t.get("content").str(), ": "))
		}
		return false
	case "reasoning_recap":
		c.sink.skip(kind, 1)
		return false
	case "user_editable_context", "model_editable_context":
		for _, key := range []string{"user_profile", "user_instructions", "model_set_context"} {
			if text := body.str(key); text != "" {
				c.texts = append(c.texts, text)
			}
		}
	default:
		c.other(n, cmp(kind, "content without a type"))
	}
	return true
}

// part reads a part of a text with images or speech.
func (e *export) part(c *content, part node) {
	if part.isString() {
		if text := part.str(); text != "" {
			c.texts = append(c.texts, text)
		}
		return
	}
	o := part.members()
	switch kind := o.str("content_type"); kind {
	case "image_asset_pointer":
		c.add(transcript.Media{Kind: "image", URI: o.str("asset_pointer")})
	case "audio_asset_pointer", "real_time_user_audio_video_asset_pointer":
		audio := o.first("audio_asset_pointer", "asset_pointer")
		pointer := audio.str()
		if audio.isObject() {
			pointer = audio.get("asset_pointer").str()
		}
		c.add(transcript.Media{Kind: "audio", URI: pointer})
	case "audio_transcription":
		c.texts = append(c.texts, o.str("text"))
	default:
		c.other(part, cmp(kind, "part without a type"))
	}
	c.sink.report.parts++
}
