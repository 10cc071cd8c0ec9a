package discord

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	disgo "github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/gateway"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/metrics"
)

// message has the members of a message that Cairn reads.
type message struct {
	ID          snowflake.ID       `json:"id"`
	Channel     snowflake.ID       `json:"channel_id"`
	Server      *snowflake.ID      `json:"guild_id"` // nil in private chats, and in responses of the API
	Type        disgo.MessageType  `json:"type"`
	Author      user               `json:"author"`
	Member      member             `json:"member"`
	Webhook     *snowflake.ID      `json:"webhook_id"`
	Content     string             `json:"content"`
	At          time.Time          `json:"timestamp"`
	EditedAt    *time.Time         `json:"edited_timestamp"`
	Mentions    []user             `json:"mentions"`
	Attachments []disgo.Attachment `json:"attachments"`
	Nonce       disgo.Nonce        `json:"nonce"`
	ReplyTo     *struct {
		Author user `json:"author"`
	} `json:"referenced_message"`
	Forwarded []struct {
		Message struct {
			Content     string             `json:"content"`
			Attachments []disgo.Attachment `json:"attachments"`
		} `json:"message"`
	} `json:"message_snapshots"`
}

// user is a user, and member a user of a server.
type (
	user struct {
		ID     snowflake.ID `json:"id"`
		Name   string       `json:"username"`
		Global string       `json:"global_name"` // empty if the user has set none
		Bot    bool         `json:"bot"`
		System bool         `json:"system"`
	}
	member struct {
		Nick string `json:"nick"`
		User user   `json:"user"`
	}
)

// shown returns the name that others see.
func (u user) shown(nick string) string {
	for _, name := range []string{nick, u.Global} {
		if name != "" {
			return name
		}
	}
	return u.Name
}

// removal is a removed message, or several.
type removal struct {
	ID      snowflake.ID   `json:"id"`
	IDs     []snowflake.ID `json:"ids"`
	Channel snowflake.ID   `json:"channel_id"`
	Server  *snowflake.ID  `json:"guild_id"`
}

// press is a pressed button.
type press struct {
	ID      snowflake.ID          `json:"id"`
	Type    disgo.InteractionType `json:"type"`
	Token   string                `json:"token"`
	Channel snowflake.ID          `json:"channel_id"`
	Server  *snowflake.ID         `json:"guild_id"`
	Member  member                `json:"member"` // in a server
	User    user                  `json:"user"`   // in a private chat
	Data    struct {
		ID   string              `json:"custom_id"`
		Type disgo.ComponentType `json:"component_type"`
	} `json:"data"`
	Message struct {
		ID snowflake.ID `json:"id"`
	} `json:"message"`
}

// eventsOf converts an event of the gateway. It returns none for one that Cairn does not read or cannot decode.
func (r *receiver) eventsOf(ctx context.Context, f frame) ([]channel.Event, error) {
	switch f.Type {
	case gateway.EventTypeMessageCreate, gateway.EventTypeMessageUpdate:
		var m message
		if err := json.Unmarshal(f.Data, &m); err != nil {
			metrics.EventRejected("discord", metrics.Undecodable)
			return nil, nil //nolint:nilerr // an error would stop all later events
		}
		if f.Type == gateway.EventTypeMessageUpdate && m.EditedAt == nil {
			return nil, nil // Discord has added a preview
		}
		e, ok, err := r.messageEvent(ctx, m)
		if err != nil {
			return nil, err
		}
		if f.Type == gateway.EventTypeMessageCreate {
			r.note(m.Channel, m.ID)
		}
		if !ok {
			return nil, nil
		}
		if f.Type == gateway.EventTypeMessageUpdate {
			e.Kind, e.Key, e.At = channel.Edited, e.Key+"-"+m.EditedAt.Format(time.RFC3339Nano), *m.EditedAt
		}
		return []channel.Event{e}, nil
	case gateway.EventTypeMessageDelete, gateway.EventTypeMessageDeleteBulk:
		var d removal
		if err := json.Unmarshal(f.Data, &d); err != nil {
			metrics.EventRejected("discord", metrics.Undecodable)
			return nil, nil //nolint:nilerr // an error would stop all later events
		}
		return r.removalEvents(ctx, d)
	case gateway.EventTypeInteractionCreate:
		p, ok := pressOf(f)
		if !ok {
			return nil, nil
		}
		return r.pressEvents(ctx, p)
	}
	return nil, nil
}

// messageEvent converts a message. Messages of bots and of Discord itself are left out.
func (r *receiver) messageEvent(ctx context.Context, m message) (e channel.Event, ok bool, err error) {
	isText := m.Type == disgo.MessageTypeDefault || m.Type == disgo.MessageTypeReply
	if !isText || m.ID == 0 || m.Author.ID == 0 || m.Author.Bot || m.Author.System || m.Webhook != nil {
		return e, false, nil
	}
	p, err := r.find(ctx, m.Channel, m.Server != nil)
	if err != nil {
		return e, false, err
	}
	e = channel.Event{Key: m.ID.String(), Kind: channel.Message, Place: p.Place, Group: p.group,
		Sender:    channel.Sender{ID: m.Author.ID.String(), Name: m.Author.shown(m.Member.Nick)},
		MessageID: m.ID.String(), At: m.At}
	e.Text, e.Mentioned = r.textOf(m)
	e.Attachments = attachmentsOf(m, m.Attachments)
	for _, f := range m.Forwarded {
		e.Text = strings.TrimSpace(e.Text + "\n" + f.Message.Content)
		e.Attachments = append(e.Attachments, attachmentsOf(m, f.Message.Attachments)...)
	}
	return e, true, nil
}

// Forms of mentions and of emoji of a server.
var (
	mention = regexp.MustCompile(`<@!?(\d{1,20})>`)
	emoji   = regexp.MustCompile(`<a?:(\w{1,64}):\d{1,20}>`)
)

// textOf returns the text of a message without the mention of the bot, and whether it names the bot or replies to
// it. Other mentions become names.
func (r *receiver) textOf(m message) (text string, mentioned bool) {
	names := map[string]string{}
	for _, u := range m.Mentions {
		names[u.ID.String()] = "@" + u.shown("")
		mentioned = mentioned || u.ID == r.bot
	}
	me := r.bot.String()
	text = mention.ReplaceAllStringFunc(m.Content, func(form string) string {
		id := mention.FindStringSubmatch(form)[1]
		if id == me {
			mentioned = true
			return ""
		}
		if name, known := names[id]; known {
			return name
		}
		return form
	})
	text = emoji.ReplaceAllString(text, ":$1:")
	return strings.TrimSpace(text), mentioned || m.ReplyTo != nil && m.ReplyTo.Author.ID == r.bot
}

// removalEvents converts a removal. Discord does not state whose the message was. In a private chat it is taken for one
// of the user; the bot's own are no events, so that nothing follows from them.
func (r *receiver) removalEvents(ctx context.Context, d removal) (events []channel.Event, err error) {
	if d.ID != 0 {
		d.IDs = append(d.IDs, d.ID)
	}
	p, err := r.find(ctx, d.Channel, d.Server != nil)
	if err != nil {
		return nil, err
	}
	for _, id := range d.IDs {
		events = append(events, channel.Event{Key: "deleted-" + id.String(), Kind: channel.Deleted, Place: p.Place,
			Group: p.group, Sender: p.user, MessageID: id.String(), At: time.Now()})
	}
	return events, nil
}

// pressOf decodes a pressed button. Ok is false for other interactions.
func pressOf(f frame) (p press, ok bool) {
	if err := json.Unmarshal(f.Data, &p); err != nil {
		metrics.EventRejected("discord", metrics.Undecodable)
		return p, false
	}
	return p, p.Type == disgo.InteractionTypeComponent && p.Data.Type == disgo.ComponentTypeButton
}

func (r *receiver) pressEvents(ctx context.Context, p press) ([]channel.Event, error) {
	where, err := r.find(ctx, p.Channel, p.Server != nil)
	if err != nil {
		return nil, err
	}
	who := p.User
	if who.ID == 0 {
		who = p.Member.User
	}
	return []channel.Event{{Key: p.ID.String(), Kind: channel.Button, Place: where.Place, Group: where.group,
		Sender:    channel.Sender{ID: who.ID.String(), Name: who.shown(p.Member.Nick), Bot: who.Bot},
		MessageID: p.Message.ID.String(), Text: p.Data.ID, At: p.ID.Time()}}, nil
}

// answer confirms a pressed button after its event is stored. If it fails, the user sees that and may press again.
func (r *receiver) answer(ctx context.Context, f frame) {
	p, ok := pressOf(f)
	if f.Type != gateway.EventTypeInteractionCreate || !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	_ = r.do(ctx, rest.CreateInteractionResponse.Compile(nil, p.ID, p.Token),
		disgo.InteractionResponse{Type: disgo.InteractionResponseTypeDeferredUpdateMessage}, nil)
}
