package slacktest

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cairn/internal/domain/channel"
)

// Limits of Slack.
const (
	maxText     = 40_000 // characters of a message
	maxUpdate   = 4000   // bytes of the text of a changed message
	maxMarkdown = 12_000 // characters of the blocks of Markdown of a message
	maxButtons  = 25
	maxLabel    = 75
	maxValue    = 2000
	maxPage     = 999
)

func (s *Server) authTest(map[string]string) (object, string) {
	return object{"url": s.URL + "/", "team": "Test", "user": "cairn", "team_id": team, "user_id": BotUser,
		"bot_id": botID, "is_enterprise_install": false}, ""
}

// exists reports whether the bot can write to a chat.
func (s *Server) exists(chat string) bool {
	return len(chat) > 1 && (chat[0] == 'D' || chat[0] == 'C')
}

// content is what a message shows.
type content struct {
	text    string // of the blocks of Markdown, else the text
	blocks  []object
	buttons []channel.Choice
}

// contentOf reads the content of a message.
func (s *Server) contentOf(args map[string]string) (c content, code string) {
	c.text = args["text"]
	if args["blocks"] != "" {
		if err := json.Unmarshal([]byte(args["blocks"]), &c.blocks); err != nil {
			return c, "invalid_blocks_format"
		}
	}
	if text, ok := args["markdown_text"]; ok {
		if c.text != "" || len(c.blocks) > 0 {
			return c, "markdown_text_conflict"
		}
		c.blocks = []object{{"type": "markdown", "text": text}}
	}
	if s.Refuse != "" && len(c.blocks) > 0 {
		return c, s.Refuse
	}
	var markdown []string
	for _, b := range c.blocks {
		b["block_id"] = s.id("b")
		switch b["type"] {
		case "markdown":
			text, _ := b["text"].(string)
			markdown = append(markdown, text)
			if text == "" {
				return c, "invalid_blocks"
			}
		case "actions":
			if !c.addButtons(b) {
				return c, "invalid_blocks"
			}
		}
	}
	switch shown := strings.Join(markdown, "\n"); {
	case utf8.RuneCountInString(shown) > maxMarkdown:
		return c, "msg_blocks_too_long"
	case utf8.RuneCountInString(c.text) > maxText:
		return c, "msg_too_long"
	case c.text == "" && len(c.blocks) == 0:
		return c, "no_text"
	case shown != "":
		c.text = shown
	}
	return c, ""
}

// addButtons reads the buttons of a block of actions. It reports whether the block is valid.
func (c *content) addButtons(block object) bool {
	elements, _ := block["elements"].([]any)
	seen := map[string]bool{}
	for _, e := range elements {
		button, _ := e.(object)
		text, _ := button["text"].(object)
		label, _ := text["text"].(string)
		value, _ := button["value"].(string)
		id, _ := button["action_id"].(string)
		if button["type"] != "button" || text["type"] != "plain_text" || label == "" || id == "" || seen[id] ||
			utf8.RuneCountInString(label) > maxLabel || utf8.RuneCountInString(value) > maxValue {
			return false
		}
		seen[id] = true
		c.buttons = append(c.buttons, channel.Choice{Label: label, Data: value})
	}
	return len(elements) > 0 && len(elements) <= maxButtons
}

func (s *Server) postMessage(args map[string]string) (object, string) {
	chat := args["channel"]
	if !s.exists(chat) {
		return nil, "channel_not_found"
	}
	c, code := s.contentOf(args)
	if code != "" {
		return nil, code
	}
	p := &post{chat: chat, ts: s.stamp(), thread: args["thread_ts"], text: c.text, buttons: c.buttons, at: time.Now(),
		preview: args["unfurl_links"] != "false" || args["unfurl_media"] != "false"}
	if raw := args["metadata"]; raw != "" {
		var m struct {
			Type    string `json:"event_type"`
			Payload object `json:"event_payload"`
		}
		if json.Unmarshal([]byte(raw), &m) != nil || m.Type == "" || m.Payload == nil {
			return nil, "invalid_metadata_format"
		}
		p.metadata = object{"event_type": m.Type, "event_payload": m.Payload}
	}
	p.body = object{"type": "message", "user": BotUser, "bot_id": botID, "app_id": appID, "team": team, "ts": p.ts,
		"text": args["text"], "blocks": c.blocks, "bot_profile": object{"id": botID, "app_id": appID,
			"user_id": BotUser, "name": "Cairn", "team_id": team, "deleted": false}}
	if p.thread != "" {
		p.body["thread_ts"] = p.thread
	}
	s.chats[chat] = append(s.chats[chat], p)
	s.sent = append(s.sent, p)
	s.emit(about(p, p.body)) // apps get their own messages, too
	return object{"channel": chat, "ts": p.ts, "message": p.shown(true)}, ""
}

func (s *Server) update(args map[string]string) (object, string) {
	p := s.find(args["channel"], args["ts"])
	switch {
	case !s.exists(args["channel"]):
		return nil, "channel_not_found"
	case p == nil:
		return nil, "message_not_found"
	case p.body["bot_id"] != botID:
		return nil, "cant_update_message"
	case len(args["text"]) > maxUpdate:
		return nil, "msg_too_long"
	}
	c, code := s.contentOf(args)
	if code != "" {
		return nil, code
	}
	before := p.body
	p.body = maps.Clone(before)
	p.text, p.buttons, p.body["text"], p.body["blocks"] = c.text, c.buttons, args["text"], c.blocks
	s.emit(changed(p, before, s.stamp()))
	return object{"channel": p.chat, "ts": p.ts, "text": args["text"], "message": p.shown(true)}, ""
}

// remove deletes a message of the bot.
func (s *Server) remove(args map[string]string) (object, string) {
	p := s.find(args["channel"], args["ts"])
	switch {
	case !s.exists(args["channel"]):
		return nil, "channel_not_found"
	case p == nil:
		return nil, "message_not_found"
	case p.body["bot_id"] != botID:
		return nil, "cant_delete_message"
	}
	s.sent = slices.DeleteFunc(s.sent, func(o *post) bool { return o == p })
	s.delete(p)
	return object{"channel": p.chat, "ts": p.ts}, ""
}

// find returns a message that is not deleted, or nil.
func (s *Server) find(chat, ts string) *post {
	for _, p := range s.chats[chat] {
		if p.ts == ts && !p.deleted {
			return p
		}
	}
	return nil
}

// shown returns a message as methods return it.
func (p *post) shown(metadata bool) object {
	out := maps.Clone(p.body)
	if metadata && p.metadata != nil {
		out["metadata"] = p.metadata
	}
	return out
}

// history returns the messages of a chat, the latest first and without replies.
func (s *Server) history(args map[string]string) (object, string) {
	if !s.exists(args["channel"]) {
		return nil, "channel_not_found"
	}
	var all []*post
	for _, p := range slices.Backward(s.chats[args["channel"]]) {
		if !p.deleted && (p.thread == "" || p.thread == p.ts) && within(p, args) {
			all = append(all, p)
		}
	}
	return page(all, args)
}

// replies returns the messages of a thread, the first one first.
func (s *Server) replies(args map[string]string) (object, string) {
	first := s.find(args["channel"], args["ts"])
	if first == nil {
		return nil, "thread_not_found"
	}
	all := []*post{first}
	for _, p := range s.chats[args["channel"]] {
		if p != first && !p.deleted && p.thread == args["ts"] && within(p, args) {
			all = append(all, p)
		}
	}
	return page(all, args)
}

// within reports whether a message is between the arguments oldest and latest.
func within(p *post, args map[string]string) bool {
	at := seconds(p.ts)
	return at > seconds(args["oldest"]) && (args["latest"] == "" || at < seconds(args["latest"]))
}

func seconds(ts string) float64 {
	at, _ := strconv.ParseFloat(ts, 64) // 0 if it is empty
	return at
}

// page returns a part of a list, from the argument cursor on.
func page(all []*post, args map[string]string) (object, string) {
	limit, _ := strconv.Atoi(args["limit"])
	if limit <= 0 || limit > maxPage {
		limit = 100
	}
	raw, _ := base64.StdEncoding.DecodeString(args["cursor"])
	from, _ := strconv.Atoi(string(raw))
	if args["cursor"] != "" && (from <= 0 || from > len(all)) {
		return nil, "invalid_cursor"
	}
	to := min(from+limit, len(all))
	metadata := args["include_all_metadata"]
	messages := []object{}
	for _, p := range all[from:to] {
		messages = append(messages, p.shown(metadata == "1" || strings.EqualFold(metadata, "true")))
	}
	next := ""
	if to < len(all) {
		next = base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(to)))
	}
	return object{"messages": messages, "has_more": next != "", "pin_count": 0,
		"response_metadata": object{"next_cursor": next}}, ""
}
