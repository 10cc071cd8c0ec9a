package slacktest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"cairn/internal/lab/fakes/channeltest"
)

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Say makes a user write.
func (s *Server) Say(said channeltest.UserMessage) (messageID string) { return s.Share(said) }

// Share makes a user write with files.
func (s *Server) Share(said channeltest.UserMessage, files ...File) (messageID string) {
	text := escaper.Replace(said.Text)
	if said.Mention {
		text = "<@" + BotUser + "> " + text
	}
	return s.Write(said, text, files...)
}

// Write makes a user write a text that has Slack's markup and escapes.
func (s *Server) Write(said channeltest.UserMessage, text string, files ...File) (messageID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[said.User] = person{said.Name, said.Bot}
	if said.Chat == "" {
		said.Chat = s.Private(said.User)
	}
	parent := s.parent(said)
	p := &post{chat: said.Chat, ts: s.stamp(), text: text}
	p.body = object{"type": "message", "user": said.User, "text": text, "ts": p.ts, "team": team,
		"client_msg_id": s.id("c"), "blocks": rich(said)}
	if parent != nil {
		p.thread = parent.ts
		p.body["thread_ts"], p.body["parent_user_id"] = p.thread, parent.body["user"]
	}
	if said.Bot {
		p.body["bot_id"], p.body["app_id"] = "B"+said.User, "A"+said.User
		p.body["bot_profile"] = object{"id": "B" + said.User, "name": said.Name}
		delete(p.body, "client_msg_id")
	}
	if len(files) > 0 {
		var all []object
		for _, f := range files {
			id := s.id("F")
			s.files[id] = f
			all = append(all, s.fileBody(id, f))
		}
		p.body["subtype"], p.body["files"], p.body["upload"] = "file_share", all, false
	}
	s.chats[said.Chat] = append(s.chats[said.Chat], p)
	s.emit(about(p, p.body))
	if said.Mention && kindOf(said.Chat) != "im" { // a second event about the same message
		e := maps.Clone(p.body)
		e["type"], e["channel"], e["event_ts"] = "app_mention", p.chat, p.ts
		delete(e, "parent_user_id")
		s.emit(e)
	}
	return p.ts
}

// parent returns the first message of the thread of a message, which another user wrote before. It is nil without a
// thread.
func (s *Server) parent(said channeltest.UserMessage) *post {
	if said.Thread == "" {
		return nil
	}
	key := said.Chat + "/" + said.Thread
	if ts, ok := s.threads[key]; ok {
		return s.find(said.Chat, ts)
	}
	if p := s.find(said.Chat, said.Thread); p != nil { // the thread is the ID of a message
		return p
	}
	p := &post{chat: said.Chat, ts: s.stamp(), text: "Start of a thread"}
	p.body = object{"type": "message", "user": "U0OTHER", "text": p.text, "ts": p.ts, "thread_ts": p.ts, "team": team}
	p.thread = p.ts
	s.chats[said.Chat] = append(s.chats[said.Chat], p)
	s.threads[key], s.threads[said.Chat+"/"+p.ts] = p.ts, said.Thread
	return p
}

// rich returns the blocks of a message of a user.
func rich(said channeltest.UserMessage) []object {
	elements := []object{{"type": "text", "text": said.Text}}
	if said.Mention {
		elements = slices.Insert(elements, 0, object{"type": "user", "user_id": BotUser})
	}
	return []object{{"type": "rich_text", "block_id": "r1", "elements": []object{
		{"type": "rich_text_section", "elements": elements}}}}
}

// kindOf returns the channel_type of a chat.
func kindOf(chat string) string {
	if strings.HasPrefix(chat, "D") {
		return "im"
	}
	return "channel"
}

// about returns the event about a new message.
func about(p *post, body object) object {
	e := maps.Clone(body)
	e["channel"], e["channel_type"], e["event_ts"] = p.chat, kindOf(p.chat), p.ts
	return e
}

// changed returns the event about a changed message.
func changed(p *post, before object, ts string) object {
	return object{"type": "message", "subtype": "message_changed", "hidden": true, "channel": p.chat,
		"channel_type": kindOf(p.chat), "ts": ts, "event_ts": ts, "message": p.body, "previous_message": before}
}

// Edit makes a user change a message.
func (s *Server) Edit(chat, messageID, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(chat, messageID)
	if p == nil {
		return false
	}
	before, ts := p.body, s.stamp()
	p.body = maps.Clone(before)
	p.body["text"] = escaper.Replace(text)
	p.body["edited"] = object{"user": p.body["user"], "ts": ts}
	s.emit(changed(p, before, ts))
	return true
}

// Preview adds the preview of a link to a message, about which apps get an event.
func (s *Server) Preview(chat, messageID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(chat, messageID)
	before := p.body
	p.body = maps.Clone(before)
	p.body["attachments"] = []object{{"title": "A page", "from_url": "https://example.org"}}
	s.emit(changed(p, before, s.stamp()))
}

// Delete makes a user delete a message. A message with replies is replaced by a tombstone.
func (s *Server) Delete(chat, messageID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.find(chat, messageID)
	if p == nil {
		return false
	}
	s.delete(p)
	return true
}

// delete deletes a message, about which apps get an event.
func (s *Server) delete(p *post) {
	p.deleted = true
	before, ts := p.body, s.stamp()
	if slices.ContainsFunc(s.chats[p.chat], func(q *post) bool { return q != p && q.thread == p.ts }) {
		p.body = object{"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "hidden": true, "ts": p.ts,
			"thread_ts": p.ts, "text": "This message was deleted."}
		s.emit(changed(p, before, ts))
		return
	}
	s.emit(object{"type": "message", "subtype": "message_deleted", "hidden": true, "channel": p.chat,
		"channel_type": kindOf(p.chat), "ts": ts, "event_ts": ts, "deleted_ts": p.ts, "previous_message": before})
}

// Press makes a user press a button of the latest message of the bot that has it.
func (s *Server) Press(user, chat, data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range slices.Backward(s.sent) {
		act := p.button(data)
		if p.chat != chat || act == nil {
			continue
		}
		act["action_ts"] = s.stamp()
		name := "directmessage"
		if kindOf(chat) != "im" {
			name = "general"
		}
		container := object{"type": "message", "message_ts": p.ts, "channel_id": chat, "is_ephemeral": false}
		if p.thread != "" {
			container["thread_ts"] = p.thread
		}
		s.deliver(&delivery{kind: "interactive", payload: encoded(object{"type": "block_actions", "api_app_id": appID,
			"token": "deprecated", "user": object{"id": user, "username": "user" + user, "name": "user" + user,
				"team_id": team}, "container": container, "trigger_id": s.id("1."), "team": object{"id": team,
				"domain": "test"}, "enterprise": nil, "is_enterprise_install": false, "channel": object{"id": chat,
				"name": name}, "message": p.shown(true), "state": object{"values": object{}},
			"response_url": s.URL + "/actions/1", "actions": []object{act}})})
		return
	}
}

// button returns the action of a button, or nil if the message has none with this data.
func (p *post) button(data string) object {
	blocks, _ := p.body["blocks"].([]object)
	for _, b := range blocks {
		elements, _ := b["elements"].([]any)
		for _, e := range elements {
			if button, _ := e.(object); button["value"] == data {
				return object{"action_id": button["action_id"], "block_id": b["block_id"], "text": button["text"],
					"value": data, "type": "button"}
			}
		}
	}
	return nil
}

// emit delivers an event.
func (s *Server) emit(event object) {
	s.deliver(&delivery{kind: "events_api", payload: encoded(object{"token": "deprecated", "team_id": team,
		"context_team_id": team, "context_enterprise_id": nil, "api_app_id": appID, "event": event,
		"type": "event_callback", "event_id": s.id("Ev"), "event_time": time.Now().Unix(),
		"authorizations": []object{{"enterprise_id": nil, "team_id": team, "user_id": BotUser, "is_bot": true,
			"is_enterprise_install": false}}, "is_ext_shared_channel": false, "event_context": "4-test"})})
}

// Repeat delivers the latest event once more.
func (s *Server) Repeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest != nil {
		s.deliver(&delivery{kind: s.latest.kind, payload: s.latest.payload})
	}
}

// Emit delivers an event of any type.
func (s *Server) Emit(event map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emit(event)
}

func encoded(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // the fake made the value
	}
	return raw
}
