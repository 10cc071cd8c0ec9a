package dingtalktest

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"time"

	"cairn/internal/lab/fakes/channeltest"
)

// Beginnings of the IDs of chats.
const (
	userPrefix  = "user:" // of Cairn: DingTalk addresses a private chat by its user
	groupPrefix = "cidgroup"
)

// robotID is the ID of the robot as the sender of messages.
const robotID = "$:LWCP_v1:$robot"

// Private returns the place of the private chat of a user.
func (s *Server) Private(user string) string { return userPrefix + user }

// Group returns the ID of a group.
func (s *Server) Group(number int) string { return groupPrefix + strconv.Itoa(number) }

// Say makes a user write a text. In a group, the robot does not get it without a mention.
func (s *Server) Say(said channeltest.UserMessage) string {
	text := said.Text
	if said.Mention {
		text = " " + text // DingTalk removes the mention
	}
	return s.SayContent(said, object{"msgtype": "text", "text": object{"content": text}})
}

// Attach makes a user send a file. The content gets the code of the file.
func (s *Server) Attach(said channeltest.UserMessage, kind string, content object, code string, data []byte) string {
	s.mu.Lock()
	s.files[code] = data
	s.mu.Unlock()
	content = maps.Clone(content)
	content["downloadCode"] = code
	return s.SayContent(said, object{"msgtype": kind, "content": content})
}

// SayContent makes a user send a message with members of any type.
func (s *Server) SayContent(said channeltest.UserMessage, more object) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, session := s.id("msg"), s.id("session-")
	group := strings.HasPrefix(said.Chat, groupPrefix)
	if said.Bot || group && !said.Mention {
		return id // DingTalk does not deliver these to robots
	}
	chat, kind, title := userPrefix+said.User, "1", ""
	conversation := "cidprivate" + said.User
	if group {
		chat, kind, title, conversation = said.Chat, "2", "Group", said.Chat
	}
	s.sessions[session] = chat
	now := time.Now()
	body := object{
		"conversationId": conversation, "conversationType": kind, "conversationTitle": title, "msgId": id,
		"senderId": "$:LWCP_v1:$" + said.User, "senderStaffId": said.User, "senderNick": said.Name,
		"senderCorpId": "dingcorp", "chatbotCorpId": "dingcorp", "chatbotUserId": robotID, "robotCode": ClientID,
		"createAt": now.UnixMilli(), "isAdmin": false, "isInAtList": group,
		"sessionWebhook":            s.URL + "/robot/sendBySession?session=" + session,
		"sessionWebhookExpiredTime": now.Add(90 * time.Minute).UnixMilli(),
	}
	if group {
		body["atUsers"] = []object{{"dingtalkId": robotID}}
	}
	maps.Copy(body, more)
	s.latest, _ = json.Marshal(body) // a JSON object
	s.queue.Put(s.id("frame-"), s.latest)
	return id
}

// Press does nothing: robots have no buttons outside of cards.
func (s *Server) Press(string, string, string) {}

// Edit reports false: DingTalk does not deliver changes of messages.
func (s *Server) Edit(string, string, string) bool { return false }

// Delete reports false: DingTalk does not deliver deletions of messages.
func (s *Server) Delete(string, string) bool { return false }

// Repeat delivers the latest message again, in another frame.
func (s *Server) Repeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest != nil {
		s.queue.Put(s.id("frame-"), s.latest)
	}
}

// Drop breaks all connections.
func (s *Server) Drop() { s.queue.Drop() }
