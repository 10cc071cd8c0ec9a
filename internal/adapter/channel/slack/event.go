package slack

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/metrics"
)

// Kinds of payloads.
const (
	kindEvent       = "events_api"
	kindInteractive = "interactive"
)

// callback is an event with what Slack adds to it, or the challenge of a new URL.
type callback struct {
	Type      string          `json:"type"`
	Challenge string          `json:"challenge"`
	EventID   string          `json:"event_id"`
	Event     json.RawMessage `json:"event"`
}

// event is an event about a message.
type event struct {
	message
	Channel     string   `json:"channel"`
	ChannelType string   `json:"channel_type"` // empty for mentions, which are never private
	EventTS     string   `json:"event_ts"`
	DeletedTS   string   `json:"deleted_ts"`
	Message     *message `json:"message"`
	Previous    *message `json:"previous_message"`
}

// message is a message of Slack. TS is its ID in its channel.
type message struct {
	Type       string    `json:"type"`
	Subtype    string    `json:"subtype"`
	User       string    `json:"user"`
	BotID      string    `json:"bot_id"`
	Text       string    `json:"text"`
	TS         string    `json:"ts"`
	ThreadTS   string    `json:"thread_ts"`
	ParentUser string    `json:"parent_user_id"`
	Edited     *struct{} `json:"edited"`
	Files      []file    `json:"files"`
}

// file is a file of a message.
type file struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"mimetype"`
	Size int64  `json:"size"`
}

// spoken are the subtypes of what users write. The other ones are notices.
var spoken = map[string]bool{"": true, "file_share": true, "thread_broadcast": true, "me_message": true}

// slackbot is the user of Slack's own messages.
const slackbot = "USLACKBOT"

// eventsOf converts a payload. It returns none for what Cairn does not read.
func (a *Adapter) eventsOf(ctx context.Context, me identity, kind string, payload []byte) []channel.Event {
	ctx, cancel := context.WithTimeout(ctx, namesTime)
	defer cancel()
	switch kind {
	case kindInteractive:
		return a.pressesOf(ctx, payload)
	case kindEvent:
		var c callback
		var in event
		if json.Unmarshal(payload, &c) != nil || json.Unmarshal(c.Event, &in) != nil {
			metrics.EventRejected("slack", metrics.Undecodable)
			return nil
		}
		if e, ok := a.eventOf(ctx, me, c.EventID, in); ok {
			return []channel.Event{e}
		}
	}
	return nil
}

// eventOf converts an event about a message. A mention arrives as two events with different IDs, so the key of a new
// message is its own ID.
func (a *Adapter) eventOf(ctx context.Context, me identity, id string, in event) (e channel.Event, ok bool) {
	said := in.message
	switch {
	case in.Type == "app_mention" && in.Edited == nil, in.Type == "message" && spoken[in.Subtype]:
		e.Kind, e.Key = channel.Message, in.Channel+"/"+in.TS
	case in.Type != "message":
		return e, false
	case in.Subtype == "message_changed" && in.Message != nil:
		said, e.Key = *in.Message, id
		switch {
		case said.Subtype == "tombstone": // stands for a deleted message with replies
			e.Kind = channel.Deleted
			said.User, said.BotID = previous(in).User, previous(in).BotID
		case in.Previous != nil && in.Previous.Text == said.Text, said.Edited == nil:
			return e, false // for example, a preview of a link was added
		default:
			e.Kind = channel.Edited
		}
	case in.Subtype == "message_deleted":
		said, e.Key, e.Kind = previous(in), id, channel.Deleted
		said.TS = in.DeletedTS
	default:
		return e, false
	}
	if said.BotID != "" || said.User == "" || said.User == slackbot || me.is(said.User, said.BotID) {
		return e, false
	}
	e.Place = channel.Place{Account: a.Account, Chat: in.Channel, Thread: said.thread()}
	e.Group, e.MessageID = in.ChannelType != "im", said.TS
	e.Sender = channel.Sender{ID: said.User, Name: a.name(ctx, said.User)}
	e.At = timeOf(in.EventTS, in.TS)
	if e.Kind == channel.Deleted {
		return e, true
	}
	e.Text, e.Mentioned = a.plain(ctx, me, said.Text)
	e.Mentioned = e.Mentioned || said.ParentUser == me.user
	for _, f := range said.Files {
		e.Attachments = append(e.Attachments,
			channel.Attachment{Ref: f.ID, Name: f.Name, Type: f.Type, Size: f.Size})
	}
	return e, true
}

// previous returns the message before a change, if Slack sent it.
func previous(in event) message {
	if in.Previous == nil {
		return message{}
	}
	return *in.Previous
}

// thread returns the thread of a message that is a reply. The first message of a thread is not.
func (m message) thread() string {
	if m.ThreadTS == m.TS {
		return ""
	}
	return m.ThreadTS
}

// timeOf returns the time of the first ID that has one.
func timeOf(ids ...string) time.Time {
	for _, id := range ids {
		if seconds, err := strconv.ParseFloat(id, 64); err == nil && seconds > 0 {
			return time.UnixMicro(int64(seconds * 1e6))
		}
	}
	return time.Now()
}

// interaction is a use of an interactive component.
type interaction struct {
	Type string `json:"type"`
	User struct {
		ID string `json:"id"`
	} `json:"user"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Message message `json:"message"`
	Actions []struct {
		ID    string `json:"action_id"`
		Type  string `json:"type"`
		Value string `json:"value"`
		TS    string `json:"action_ts"`
	} `json:"actions"`
}

// pressesOf converts a press of one of the bot's buttons. Slack gives it no ID.
func (a *Adapter) pressesOf(ctx context.Context, payload []byte) (events []channel.Event) {
	var in interaction
	if err := json.Unmarshal(payload, &in); err != nil {
		metrics.EventRejected("slack", metrics.Undecodable)
		return nil
	}
	if in.Type != "block_actions" || in.Channel.ID == "" {
		return nil
	}
	for _, act := range in.Actions {
		if act.Type != "button" || !strings.HasPrefix(act.ID, actionPrefix) {
			continue
		}
		events = append(events, channel.Event{
			Key:       strings.Join([]string{in.Channel.ID, in.Message.TS, act.ID, in.User.ID, act.TS}, "/"),
			Kind:      channel.Button,
			Place:     channel.Place{Account: a.Account, Chat: in.Channel.ID, Thread: in.Message.thread()},
			Group:     !strings.HasPrefix(in.Channel.ID, "D"), // of direct messages
			Mentioned: true,
			Sender:    channel.Sender{ID: in.User.ID, Name: a.name(ctx, in.User.ID)},
			MessageID: in.Message.TS,
			Text:      act.Value,
			At:        timeOf(act.TS),
		})
	}
	return events
}
