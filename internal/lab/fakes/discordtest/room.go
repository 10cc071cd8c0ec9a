package discordtest

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	disgo "github.com/disgoorg/disgo/discord"

	"cairn/internal/domain/channel"
)

// Types of channels.
const (
	typeText   = 0
	typeDM     = 1
	typeThread = 11
)

type user struct {
	id, name string
	bot      bool
}

// room is a channel or a thread.
type room struct {
	id       string
	kind     int
	parent   *room // of a thread
	member   string
	messages []*message
	hidden   bool // from the bot
}

type message struct {
	id, author, content string
	room                *room
	at                  time.Time
	edited              *time.Time
	mentions            []string
	everyone            bool
	nonce               string
	components          json.RawMessage
	buttons             []channel.Choice
	files               []*file
	extra               map[string]any
	flags               disgo.MessageFlags
}

type file struct {
	id, name, contentType string
	data                  []byte
}

// room returns a channel, nil if the ID is not one of a private chat, a group or a known thread.
func (s *Server) room(id string) *room {
	if r := s.rooms[id]; r != nil {
		return r
	}
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil || n < firstDM || n >= firstRoom+firstRoom-firstDM {
		return nil
	}
	r := &room{id: id, kind: typeText}
	if n < firstRoom {
		r.kind, r.member = typeDM, strconv.FormatUint(n-firstDM, 10)
		if _, known := s.users[r.member]; !known {
			s.users[r.member] = user{r.member, "User " + r.member, false}
		}
	}
	s.rooms[id] = r
	return r
}

func (s *Server) thread(id string, parent *room) *room {
	if s.rooms[id] == nil {
		s.rooms[id] = &room{id: id, kind: typeThread, parent: parent}
	}
	return s.rooms[id]
}

func (r *room) message(id string) *message {
	if r == nil {
		return nil
	}
	if i := slices.IndexFunc(r.messages, func(m *message) bool { return m.id == id }); i >= 0 {
		return r.messages[i]
	}
	return nil
}

func (s *Server) remove(r *room, id string) bool {
	if r.message(id) == nil {
		return false
	}
	r.messages = slices.DeleteFunc(r.messages, func(m *message) bool { return m.id == id })
	data := map[string]any{"id": id, "channel_id": r.id}
	if r.kind != typeDM {
		data["guild_id"] = serverID
	}
	s.publish("MESSAGE_DELETE", r, func(bool) map[string]any { return data })
	return true
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }

func (s *Server) userPayload(id string) map[string]any {
	u := s.users[id]
	out := map[string]any{"id": u.id, "username": strings.ToLower(strings.ReplaceAll(u.name, " ", "_")),
		"global_name": u.name, "discriminator": "0", "avatar": nil, "public_flags": 0, "flags": 0, "banner": nil,
		"accent_color": nil, "avatar_decoration_data": nil, "bot": u.bot, "system": false}
	if u.bot {
		out["global_name"], out["username"] = nil, u.name
	}
	return out
}

func (s *Server) memberPayload(id string) map[string]any {
	return map[string]any{"roles": []string{}, "joined_at": stamp(time.Unix(1700000000, 0)), "nick": nil,
		"avatar": nil, "banner": nil, "premium_since": nil, "deaf": false, "mute": false, "flags": 0,
		"pending": false, "communication_disabled_until": nil}
}

func (s *Server) roomPayload(r *room) map[string]any {
	out := map[string]any{"id": r.id, "type": r.kind, "last_message_id": nil, "flags": 0}
	if len(r.messages) > 0 {
		out["last_message_id"] = r.messages[len(r.messages)-1].id
	}
	more := map[string]any{"guild_id": serverID, "name": "room-" + r.id, "position": 0, "parent_id": nil,
		"permission_overwrites": []any{}, "topic": nil, "nsfw": false, "rate_limit_per_user": 0}
	switch r.kind {
	case typeDM:
		more = map[string]any{"recipients": []any{s.userPayload(r.member)}}
	case typeThread:
		more = map[string]any{"guild_id": serverID, "name": "thread-" + r.id, "parent_id": r.parent.id,
			"owner_id": ownerID, "message_count": len(r.messages), "member_count": 1, "rate_limit_per_user": 0,
			"total_message_sent": len(r.messages), "thread_metadata": map[string]any{"archived": false,
				"auto_archive_duration": 1440, "archive_timestamp": stamp(time.Unix(1700000000, 0)), "locked": false}}
	}
	maps.Copy(out, more)
	return out
}

// messagePayload returns a message as the API shows it. The gateway adds members.
func (s *Server) messagePayload(m *message) map[string]any {
	out := map[string]any{"id": m.id, "channel_id": m.room.id, "author": s.userPayload(m.author),
		"content": m.content, "timestamp": stamp(m.at), "edited_timestamp": nil, "tts": false,
		"mention_everyone": m.everyone, "mention_roles": []string{}, "embeds": []any{}, "pinned": false, "type": 0,
		"flags": m.flags, "components": m.components}
	if m.edited != nil {
		out["edited_timestamp"] = stamp(*m.edited)
	}
	if m.components == nil {
		out["components"] = []any{}
	}
	mentions, files := []any{}, []any{}
	for _, id := range m.mentions {
		mentions = append(mentions, s.userPayload(id))
	}
	for _, f := range m.files {
		address := s.URL + "/attachments/" + m.room.id + "/" + f.id + "/" + f.name + "?hm=" + strconv.Itoa(s.edition)
		files = append(files, map[string]any{"id": f.id, "filename": f.name, "size": len(f.data), "url": address,
			"proxy_url": address, "content_type": f.contentType})
	}
	out["mentions"], out["attachments"] = mentions, files
	maps.Copy(out, m.extra)
	return out
}

// serverPayload returns the guild of all groups.
func (s *Server) serverPayload() map[string]any {
	rooms, threads := []any{}, []any{}
	for _, id := range slices.Sorted(maps.Keys(s.rooms)) {
		switch r := s.rooms[id]; r.kind {
		case typeText:
			rooms = append(rooms, s.roomPayload(r))
		case typeThread:
			threads = append(threads, s.roomPayload(r))
		}
	}
	bot := s.memberPayload(BotID)
	bot["user"] = s.userPayload(BotID)
	everyone := map[string]any{"id": serverID, "name": "@everyone", "permissions": "2251804225", "position": 0,
		"color": 0, "hoist": false, "managed": false, "mentionable": false, "flags": 0, "icon": nil,
		"colors": map[string]any{"primary_color": 0, "secondary_color": nil, "tertiary_color": nil}}
	return map[string]any{"id": serverID, "name": "Server", "icon": nil, "owner_id": ownerID,
		"roles": []any{everyone}, "channels": rooms, "threads": threads, "members": []any{bot}, "member_count": 2,
		"emojis": []any{}, "stickers": []any{}, "features": []string{}, "large": false, "unavailable": false,
		"voice_states": []any{}, "presences": []any{}, "stage_instances": []any{},
		"guild_scheduled_events": []any{}, "soundboard_sounds": []any{},
		"joined_at": stamp(time.Unix(1700000000, 0)), "preferred_locale": "en-US", "verification_level": 0,
		"default_message_notifications": 0, "explicit_content_filter": 0, "mfa_level": 0, "nsfw_level": 0,
		"premium_tier": 0, "premium_subscription_count": 0, "system_channel_flags": 0, "afk_timeout": 300}
}
