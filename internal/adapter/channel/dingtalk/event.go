package dingtalk

import (
	"encoding/json"
	"mime"
	"path"
	"strings"
	"time"

	"github.com/open-dingtalk/dingtalk-stream-sdk-go/chatbot"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/metrics"
)

// userPrefix begins Place.Chat of a private chat. The ID of the user follows.
const userPrefix = "user:"

// privateType is the type of a private conversation.
const privateType = "1"

// eventOf converts a message. Ok is false for one that Cairn does not read.
func (a *Adapter) eventOf(raw []byte) (e channel.Event, ok bool) {
	var m struct {
		chatbot.BotCallbackDataModel
		Content content `json:"content"`
	}
	if json.Unmarshal(raw, &m) != nil || m.MsgId == "" {
		metrics.EventRejected("dingtalk", metrics.Undecodable)
		return e, false
	}
	user := m.SenderStaffId
	if user == "" {
		user = m.SenderId // of another organization
	}
	e = channel.Event{Key: m.MsgId, Kind: channel.Message, MessageID: m.MsgId, At: time.UnixMilli(m.CreateAt),
		Sender: channel.Sender{ID: user, Name: m.SenderNick, Bot: m.SenderId == m.ChatbotUserId}}
	e.Place = channel.Place{Account: a.Account, Chat: userPrefix + user}
	if e.Group = m.ConversationType != privateType; e.Group {
		e.Place.Chat = m.ConversationId
		e.Mentioned = true // else it would not have arrived
	}
	e.Text, e.Attachments = m.Content.read(m.Msgtype)
	if m.Msgtype == "text" {
		e.Text = m.Text.Content
		if e.Group {
			e.Text = strings.TrimSpace(e.Text) // DingTalk leaves the spaces around the mention
		}
	}
	return e, e.Text != "" || len(e.Attachments) > 0 || e.Mentioned
}

// content is the content of a message that is not plain text.
type content struct {
	DownloadCode string  `json:"downloadCode"`
	FileName     string  `json:"fileName"`
	Recognition  string  `json:"recognition"` // text of speech
	VideoType    string  `json:"videoType"`   // such as mp4
	RichText     []piece `json:"richText"`
}

// piece is a part of a rich text.
type piece struct {
	Type         string `json:"type"` // picture, or empty for text
	Text         string `json:"text"`
	DownloadCode string `json:"downloadCode"`
}

// read returns the text and the attachments of a content.
func (c content) read(kind string) (text string, files []channel.Attachment) {
	switch kind {
	case "picture":
		return "", []channel.Attachment{{Ref: c.DownloadCode}}
	case "audio":
		if c.Recognition != "" { // the platform has transcribed it
			return c.Recognition, nil
		}
		return "", []channel.Attachment{{Ref: c.DownloadCode, Type: "audio/amr"}}
	case "video":
		return "", []channel.Attachment{{Ref: c.DownloadCode, Type: mime.TypeByExtension("." + c.VideoType)}}
	case "file":
		return "", []channel.Attachment{{Ref: c.DownloadCode, Name: c.FileName,
			Type: mime.TypeByExtension(path.Ext(c.FileName))}}
	case "richText":
		var out strings.Builder
		for _, p := range c.RichText {
			out.WriteString(p.Text)
			if p.DownloadCode != "" {
				files = append(files, channel.Attachment{Ref: p.DownloadCode})
			}
		}
		return strings.TrimSpace(out.String()), files
	}
	return "", nil
}
