package feishutest

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"cairn/internal/lab/fakes/channeltest"
)

// event is an event that was delivered.
type event struct {
	kind string
	id   string
	body object
}

func milliseconds(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// Private returns the ID of the private chat of a user.
func (s *Server) Private(user string) string { return privatePrefix + user }

// Group returns the ID of a group.
func (s *Server) Group(number int) string { return groupPrefix + strconv.Itoa(number) }

// Say makes a user write a text.
func (s *Server) Say(said channeltest.UserMessage) string {
	text := said.Text
	var mentions []object
	if said.Mention {
		text = "@_user_1 " + text
		mentions = []object{{"key": "@_user_1", "name": "Cairn", "tenant_key": "tenant",
			"id": object{"open_id": BotID, "union_id": "on_bot", "user_id": ""}}}
	}
	return s.SayContent(said, "text", object{"text": text}, object{"mentions": mentions})
}

// Attach makes a user send a message with a file. The content names its key; its type is image or file.
func (s *Server) Attach(said channeltest.UserMessage, kind string, content object, fileType, key string,
	data []byte) string {
	s.mu.Lock()
	s.files["om_"+strconv.Itoa(s.next+1)+"/"+fileType+"/"+key] = data
	s.mu.Unlock()
	return s.SayContent(said, kind, content, nil)
}

// SayContent makes a user send a message of any type, with more members of its event.
func (s *Server) SayContent(said channeltest.UserMessage, kind string, content, more object) string {
	raw, _ := json.Marshal(content) // content is JSON
	s.mu.Lock()
	defer s.mu.Unlock()
	if said.Chat == "" {
		said.Chat = s.Private(said.User)
	}
	s.names[said.User] = said.Name
	m := &message{sender: said.User}
	m.ID, m.Chat, m.Text, m.At = s.id("om_"), said.Chat, said.Text, time.Now()
	s.messages[m.ID] = m
	s.threads[m.ID] = m.ID
	body := object{"message_id": m.ID, "chat_id": m.Chat, "chat_type": modeOf(m.Chat), "message_type": kind,
		"content": string(raw), "create_time": milliseconds(m.At), "update_time": milliseconds(m.At)}
	if said.Thread != "" {
		root := "om_root_" + said.Thread
		s.messages[root] = &message{Message: channeltest.Message{ID: root, Chat: m.Chat}, sender: said.User}
		s.threads[root] = said.Thread
		body["root_id"], body["parent_id"], body["thread_id"] = root, root, "omt_"+said.Thread
	}
	for name, value := range more {
		body[name] = value
	}
	sender := "user"
	if said.Bot {
		sender = "app"
	}
	s.publish("im.message.receive_v1", object{"message": body, "sender": object{"sender_type": sender,
		"tenant_key": "tenant", "sender_id": object{"open_id": said.User, "union_id": "on_" + said.User}}})
	return m.ID
}

// Press makes a user press a button. Feishu does not deliver presses again.
func (s *Server) Press(user, chat, data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, id := object{"data": data}, ""
	for _, m := range slices.Backward(s.sent) {
		if found := m.values[data]; m.Chat == chat && found != nil {
			value, id = found, m.ID
			break
		}
	}
	s.publish("card.action.trigger", object{
		"operator": object{"open_id": user, "tenant_key": "tenant"},
		"token":    "c-1",
		"action":   object{"tag": "button", "value": value},
		"host":     "im_message",
		"context":  object{"open_message_id": id, "open_chat_id": chat},
	})
}

// Edit reports false: Feishu does not deliver changes of messages.
func (s *Server) Edit(string, string, string) bool { return false }

// Delete makes a user recall a message.
func (s *Server) Delete(chat, messageID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recalled[messageID] = s.messages[messageID]
	delete(s.messages, messageID)
	s.publish("im.message.recalled_v1", object{"message_id": messageID, "chat_id": chat,
		"recall_time": milliseconds(time.Now()), "recall_type": "message_owner"})
	return true
}

// publish delivers an event. The caller holds the lock.
func (s *Server) publish(kind string, body object) {
	s.latest = &event{kind, s.id("event-"), body}
	s.put(s.latest)
}

func (s *Server) put(e *event) {
	raw, _ := json.Marshal(object{"schema": "2.0", "event": e.body, "header": object{"event_id": e.id,
		"event_type": e.kind, "create_time": milliseconds(time.Now()), "token": "", "app_id": AppID,
		"tenant_key": "tenant"}}) // a map of strings
	id := s.id("frame-")
	if e.kind == "card.action.trigger" {
		s.queue.PutOnce(id, raw)
		return
	}
	s.queue.Put(id, raw)
}

// Repeat delivers the latest event again. A message has another event_id then.
func (s *Server) Repeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest == nil {
		return
	}
	e := *s.latest
	if e.kind == "im.message.receive_v1" {
		e.id = s.id("event-")
	}
	s.put(&e)
}

// Drop breaks all long connections.
func (s *Server) Drop() { s.queue.Drop() }
