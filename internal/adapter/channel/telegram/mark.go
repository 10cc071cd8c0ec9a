package telegram

import (
	"strings"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"
)

// marked is a text with the parts that Telegram has recognized in it, such as mentions and commands. Their places count
// UTF-16 units.
type marked struct {
	units []uint16
	marks []models.MessageEntity
}

// textOf returns the text of a message, or the caption of its file.
func textOf(m *models.Message) marked {
	if m.Text == "" {
		return marked{utf16.Encode([]rune(m.Caption)), m.CaptionEntities}
	}
	return marked{utf16.Encode([]rune(m.Text)), m.Entities}
}

// part returns the text of a mark, empty if its place is not valid.
func (t marked) part(m models.MessageEntity) string {
	if m.Offset < 0 || m.Length < 0 || m.Offset+m.Length > len(t.units) {
		return ""
	}
	return string(utf16.Decode(t.units[m.Offset : m.Offset+m.Length]))
}

// addressee returns the name of the bot to which the text is a command, as in /new@name. It is empty for another text
// and for a command that names no bot.
func (t marked) addressee() string {
	for _, m := range t.marks {
		if m.Type == models.MessageEntityTypeBotCommand && m.Offset == 0 {
			_, name, _ := strings.Cut(t.part(m), "@")
			return name
		}
	}
	return ""
}

// without returns the text without the mentions of a bot, and whether it has one.
func (t marked) without(me *models.User) (text string, mentioned bool) {
	var kept []uint16
	end := 0
	for _, m := range t.marks {
		part := t.part(m)
		isName := m.Type == models.MessageEntityTypeMention && strings.EqualFold(part, "@"+me.Username)
		isLink := m.Type == models.MessageEntityTypeTextMention && m.User != nil && m.User.ID == me.ID
		if part == "" || m.Offset < end || !isName && !isLink {
			continue
		}
		kept = append(kept, t.units[end:m.Offset]...)
		end, mentioned = m.Offset+m.Length, true
	}
	kept = append(kept, t.units[end:]...)
	return strings.TrimSpace(string(utf16.Decode(kept))), mentioned
}

// isSaid reports whether a user has sent a message without text. Others are notices, such as of a new member or of a
// pinned message.
func isSaid(m *models.Message) bool {
	return m.Sticker != nil || m.Video != nil || m.VideoNote != nil || m.Animation != nil || m.Story != nil ||
		m.PaidMedia != nil || m.Location != nil || m.Venue != nil || m.Contact != nil || m.Poll != nil ||
		m.Checklist != nil || m.Dice != nil || m.Game != nil
}

// repliesTo reports whether a message is a reply to the bot. In a topic, each message refers to the notice that the
// topic was made, which is no reply.
func repliesTo(m *models.Message, me *models.User) bool {
	to := m.ReplyToMessage
	return to != nil && to.From != nil && to.From.ID == me.ID && to.ForumTopicCreated == nil
}
