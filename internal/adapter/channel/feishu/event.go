package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	larkevent "github.com/larksuite/oapi-sdk-go/v3/event"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/metrics"
)

// eventOf converts an event. Ok is false for one that Cairn does not read.
func (a *Adapter) eventOf(ctx context.Context, payload []byte, bot string) (e channel.Event, ok bool) {
	var base struct {
		larkevent.EventV2Base
		Event json.RawMessage `json:"event"`
	}
	if json.Unmarshal(payload, &base) != nil || base.Header == nil {
		metrics.EventRejected("feishu", metrics.Undecodable)
		return e, false
	}
	switch base.Header.EventType {
	case "im.message.receive_v1":
		var d larkim.P2MessageReceiveV1Data
		if json.Unmarshal(base.Event, &d) != nil || d.Sender == nil || d.Message == nil {
			metrics.EventRejected("feishu", metrics.Undecodable)
			return e, false
		}
		return a.message(ctx, &d, bot)
	case "im.message.recalled_v1":
		var d larkim.P2MessageRecalledV1Data
		if json.Unmarshal(base.Event, &d) != nil || value(d.MessageId) == "" {
			metrics.EventRejected("feishu", metrics.Undecodable)
			return e, false
		}
		return a.recall(ctx, &d), true
	case "card.action.trigger":
		var d callback.CardActionTriggerRequest
		if json.Unmarshal(base.Event, &d) != nil || d.Operator == nil || d.Action == nil || d.Context == nil {
			metrics.EventRejected("feishu", metrics.Undecodable)
			return e, false
		}
		return a.press(ctx, &d, base.Header.EventID)
	}
	return e, false
}

func value(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// milliseconds reads a time in milliseconds. Feishu states the time of a recall in seconds or milliseconds.
func milliseconds(text string) time.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return time.Now()
	case n < 1e11:
		return time.Unix(n, 0)
	}
	return time.UnixMilli(n)
}

// message converts a message.
func (a *Adapter) message(
	ctx context.Context,
	d *larkim.P2MessageReceiveV1Data,
	bot string,
) (e channel.Event, ok bool) {
	m := d.Message
	chat, id := value(m.ChatId), value(m.MessageId)
	e = channel.Event{Key: id, Kind: channel.Message, MessageID: id, At: milliseconds(value(m.CreateTime))}
	e.Place = channel.Place{Account: a.Account, Chat: chat}
	if value(m.ThreadId) != "" { // a reply outside a thread has a root_id, too
		if e.Place.Thread = value(m.RootId); e.Place.Thread == "" {
			e.Place.Thread = id // it begins the thread
		}
	}
	mode := value(m.ChatType)
	a.chats.Put(chat, mode, placeLife)
	e.Group = mode != modePrivate
	e.Sender.Bot = value(d.Sender.SenderType) != "user"
	if d.Sender.SenderId != nil {
		e.Sender.ID = value(d.Sender.SenderId.OpenId)
	}
	e.Text, e.Attachments = content(id, value(m.MessageType), value(m.Content))
	e.Text, e.Mentioned = mentions(e.Text, m.Mentions, bot)
	if e.Sender.Bot {
		return e, true
	}
	if !e.Group {
		a.partners.Put(chat, e.Sender.ID, placeLife)
	}
	e.Sender.Name = a.name(ctx, e.Sender.ID)
	if parent := value(m.ParentId); e.Group && parent != "" && !e.Mentioned {
		sender, err := a.senderOf(ctx, parent)
		e.Mentioned = err == nil && sender == a.AppID // a reply to the bot
	}
	return e, e.Text != "" || len(e.Attachments) > 0 || e.Mentioned
}

// recall converts a recalled message. Feishu does not state whose it was. In a private chat it is taken for one of the
// user; the bot's own are no events, so that nothing follows from them.
func (a *Adapter) recall(ctx context.Context, d *larkim.P2MessageRecalledV1Data) channel.Event {
	id, chat := value(d.MessageId), value(d.ChatId)
	e := channel.Event{Key: "recalled/" + id, Kind: channel.Deleted, MessageID: id, Group: a.isGroup(ctx, chat),
		Place: channel.Place{Account: a.Account, Chat: chat}, At: milliseconds(value(d.RecallTime))}
	if !e.Group {
		e.Sender.ID = a.partners.Get(chat, func() (string, error) { return a.senderOf(ctx, id) })
	}
	return e
}

// placeholder is a mention in a text.
var placeholder = regexp.MustCompile(`@_user_\d+|@_all`)

// mentions replaces the placeholders of mentions by names, and removes those of the bot.
func mentions(text string, all []*larkim.MentionEvent, bot string) (plain string, mentioned bool) {
	names := map[string]string{"@_all": "@all"}
	for _, m := range all {
		switch {
		case m == nil:
		case m.Id != nil && value(m.Id.OpenId) == bot:
			names[value(m.Key)] = ""
			mentioned = true
		default:
			names[value(m.Key)] = "@" + value(m.Name)
		}
	}
	plain = placeholder.ReplaceAllStringFunc(text, func(key string) string {
		if name, ok := names[key]; ok {
			return name
		}
		return key
	})
	if plain != text {
		plain = strings.TrimSpace(plain)
	}
	return plain, mentioned
}

// body is the content of a message of any type.
type body struct {
	Text     string    `json:"text"`
	Title    string    `json:"title"`
	Content  [][]piece `json:"content"` // of type post
	ImageKey string    `json:"image_key"`
	FileKey  string    `json:"file_key"`
	FileName string    `json:"file_name"`
}

// piece is a part of a line of a post.
type piece struct {
	Tag      string `json:"tag"`
	Text     string `json:"text"`
	Href     string `json:"href"`
	UserID   string `json:"user_id"` // the placeholder of a mention
	ImageKey string `json:"image_key"`
	FileKey  string `json:"file_key"`
	Emoji    string `json:"emoji_type"`
	Language string `json:"language"`
}

// content returns the text and the attachments of a message.
func content(message, kind, raw string) (text string, files []channel.Attachment) {
	var b body
	if json.Unmarshal([]byte(raw), &b) != nil {
		return "", nil
	}
	file := func(kind, key string) channel.Attachment {
		return channel.Attachment{Ref: message + "/" + kind + "/" + key, Name: b.FileName,
			Type: mime.TypeByExtension(path.Ext(b.FileName))}
	}
	switch kind {
	case "text":
		return b.Text, nil
	case "image":
		return "", []channel.Attachment{file("image", b.ImageKey)}
	case "file", "media":
		return "", []channel.Attachment{file("file", b.FileKey)}
	case "audio":
		voice := file("file", b.FileKey)
		voice.Type = "audio/ogg" // Feishu stores speech as Opus
		return "", []channel.Attachment{voice}
	case "post":
		lines := make([]string, 0, len(b.Content)+1)
		if b.Title != "" {
			lines = append(lines, b.Title)
		}
		for _, pieces := range b.Content {
			var line strings.Builder
			for _, p := range pieces {
				line.WriteString(p.text())
				switch {
				case p.Tag == "img":
					files = append(files, file("image", p.ImageKey))
				case p.Tag == "media":
					files = append(files, file("file", p.FileKey))
				}
			}
			lines = append(lines, line.String())
		}
		return strings.TrimSpace(strings.Join(lines, "\n")), files
	}
	return "", nil
}

// text returns a piece as Markdown.
func (p piece) text() string {
	switch p.Tag {
	case "a":
		return "[" + p.Text + "](" + p.Href + ")"
	case "at":
		return p.UserID
	case "emotion":
		return ":" + p.Emoji + ":"
	case "code_block":
		return "```" + strings.ToLower(p.Language) + "\n" + strings.TrimSuffix(p.Text, "\n") + "\n```"
	}
	return p.Text
}

// press converts a press of a button. The value of the button has its data and thread.
func (a *Adapter) press(
	ctx context.Context,
	d *callback.CardActionTriggerRequest,
	key string,
) (e channel.Event, ok bool) {
	data, _ := d.Action.Value["data"].(string)
	thread, _ := d.Action.Value["thread"].(string)
	chat, user := d.Context.OpenChatID, d.Operator.OpenID
	e = channel.Event{Key: key, Kind: channel.Button, MessageID: d.Context.OpenMessageID, Text: data, At: time.Now(),
		Place: channel.Place{Account: a.Account, Chat: chat, Thread: thread}, Group: a.isGroup(ctx, chat),
		Sender: channel.Sender{ID: user, Name: a.name(ctx, user)}}
	return e, data != ""
}

// modePrivate is the mode of a private chat.
const modePrivate = "p2p"

// isGroup reports whether a chat is a group. A chat of which the server states nothing is one.
func (a *Adapter) isGroup(ctx context.Context, chat string) bool {
	return a.chats.Get(chat, func() (string, error) {
		ctx, cancel := context.WithTimeout(ctx, quickTime)
		defer cancel()
		var body struct {
			Data struct {
				Mode string `json:"chat_mode"`
			} `json:"data"`
		}
		err := a.request(ctx, http.MethodGet, "/open-apis/im/v1/chats/:chat_id", map[string]string{":chat_id": chat},
			nil, &body)
		return body.Data.Mode, err
	}) != modePrivate
}

// name returns the name of a user, or the ID if the app may not read names (contact:user.base:readonly).
func (a *Adapter) name(ctx context.Context, user string) string {
	name := a.people.Get(user, func() (string, error) {
		ctx, cancel := context.WithTimeout(ctx, quickTime)
		defer cancel()
		var body struct {
			Data struct {
				User struct {
					Name string `json:"name"`
				} `json:"user"`
			} `json:"data"`
		}
		err := a.request(ctx, http.MethodGet, "/open-apis/contact/v3/users/:user_id",
			map[string]string{":user_id": user, "user_id_type": "open_id"}, nil, &body)
		return body.Data.User.Name, err
	})
	if name == "" {
		return user
	}
	return name
}

// senderOf returns the open_id of the user who has sent a message, or the app_id of a bot.
func (a *Adapter) senderOf(ctx context.Context, message string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, quickTime)
	defer cancel()
	var body struct {
		Data struct {
			Items []struct {
				Sender struct {
					ID string `json:"id"`
				} `json:"sender"`
			} `json:"items"`
		} `json:"data"`
	}
	err := a.request(ctx, http.MethodGet, "/open-apis/im/v1/messages/:message_id",
		map[string]string{":message_id": message}, nil, &body)
	if err == nil && len(body.Data.Items) == 0 {
		err = errors.New("the server does not show the message")
	}
	if err != nil {
		return "", err
	}
	return body.Data.Items[0].Sender.ID, nil
}
