package telegramtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"

	"cairn/internal/domain/channel"
	"cairn/internal/lab/fakes/channeltest"
)

// post is a message of the bot.
type post struct {
	channeltest.Message
	plain  string // the text without its markup
	edited int    // Unix time; 0 means never
}

// shown returns the message as the server sends it.
func (p *post) shown() *models.Message {
	m := &models.Message{Chat: chatOf(p.Chat), From: bot(), Date: int(p.At.Unix()), EditDate: p.edited, Text: p.plain}
	m.ID, _ = strconv.Atoi(p.ID)                  // a number
	m.MessageThreadID, _ = strconv.Atoi(p.Thread) // 0 without a thread
	m.IsTopicMessage = m.MessageThreadID != 0
	if len(p.Buttons) > 0 {
		var row []models.InlineKeyboardButton
		for _, b := range p.Buttons {
			row = append(row, models.InlineKeyboardButton{Text: b.Label, CallbackData: b.Data})
		}
		m.ReplyMarkup = &models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{row}}
	}
	return m
}

func (s *Server) send(w http.ResponseWriter, r *http.Request) {
	plain, err := textOf(r)
	if err != nil {
		fail(w, http.StatusBadRequest, "Bad Request: "+err.Error(), 0)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answered, lost := s.fault(w)
	if answered {
		return
	}
	p := &post{plain: plain, Message: channeltest.Message{
		ID:      strconv.Itoa(s.newID()),
		Chat:    r.FormValue("chat_id"),
		Text:    r.FormValue("text"),
		At:      time.Now(),
		Thread:  r.FormValue("message_thread_id"),
		Buttons: buttonsOf(r.FormValue("reply_markup")),
		Preview: previews(r),
	}}
	s.sent = append(s.sent, p)
	if lost {
		panic(http.ErrAbortHandler) // the connection breaks
	}
	answer(w, p.shown())
}

// fault takes the fault of a request, and answers it. Lost reports that the request has its effect, and that the
// connection must break after it. The lock is held.
func (s *Server) fault(w http.ResponseWriter) (answered, lost bool) {
	if len(s.faults) == 0 {
		return false, false
	}
	f := s.faults[0]
	s.faults = s.faults[1:]
	switch f.Kind {
	case channeltest.Busy:
		after := int(f.RetryAfter.Seconds())
		fail(w, http.StatusTooManyRequests, fmt.Sprintf("Too Many Requests: retry after %d", after), after)
	case channeltest.Broken:
		fail(w, http.StatusInternalServerError, "Internal Server Error", 0)
	case channeltest.Gone:
		fail(w, http.StatusForbidden, "Forbidden: bot was blocked by the user", 0)
	case channeltest.Refused:
		fail(w, http.StatusBadRequest, "Bad Request: BUTTON_DATA_INVALID", 0)
	case channeltest.Unknown:
		return false, true
	}
	return true, false
}

// preview shows a text in a private chat.
func (s *Server) preview(w http.ResponseWriter, r *http.Request) {
	plain, err := textOf(r)
	if err != nil && r.FormValue("text") == "" {
		err = nil // shows a placeholder
	}
	chat, _ := strconv.ParseInt(r.FormValue("chat_id"), 10, 64)
	if draft, _ := strconv.ParseInt(r.FormValue("draft_id"), 10, 64); err == nil && draft == 0 {
		err = errors.New("DRAFT_ID_INVALID")
	}
	if err == nil && chat <= 0 {
		err = errors.New("TEXTDRAFT_PEER_INVALID")
	}
	if err != nil {
		fail(w, http.StatusBadRequest, "Bad Request: "+err.Error(), 0)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answered, lost := s.fault(w)
	if answered {
		return
	}
	s.shown = append(s.shown, Preview{Chat: r.FormValue("chat_id"), Draft: r.FormValue("draft_id"), Text: plain,
		Sent: len(s.sent)})
	if lost {
		panic(http.ErrAbortHandler)
	}
	answer(w, true)
}

// remove deletes a message of the bot.
func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseMultipartForm(1 << 20) // a request of another form has no values
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(r)
	if i < 0 {
		fail(w, http.StatusBadRequest, "Bad Request: message to delete not found", 0)
		return
	}
	s.sent = slices.Delete(s.sent, i, i+1)
	answer(w, true)
}

// find returns the position of the message that a request names, -1 if there is none. The lock is held.
func (s *Server) find(r *http.Request) int {
	return slices.IndexFunc(s.sent, func(p *post) bool {
		return p.ID == r.FormValue("message_id") && p.Chat == r.FormValue("chat_id")
	})
}

func (s *Server) edit(w http.ResponseWriter, r *http.Request) {
	plain, err := textOf(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(r)
	buttons := buttonsOf(r.FormValue("reply_markup"))
	switch {
	case err != nil:
	case i < 0:
		err = errors.New("message to edit not found")
	case s.sent[i].plain == plain && s.sent[i].Text == r.FormValue("text") && slices.Equal(s.sent[i].Buttons, buttons):
		err = errors.New("message is not modified: specified new message content and reply markup are exactly the " +
			"same as a current content and reply markup of the message")
	}
	if err != nil {
		fail(w, http.StatusBadRequest, "Bad Request: "+err.Error(), 0)
		return
	}
	answered, lost := s.fault(w)
	if answered {
		return
	}
	p := s.sent[i]
	p.plain, p.Text, p.Buttons, p.edited = plain, r.FormValue("text"), buttons, now()
	p.Preview = previews(r)
	if lost {
		panic(http.ErrAbortHandler)
	}
	answer(w, p.shown())
}

// previews reports whether the links of a message are fetched.
func previews(r *http.Request) bool {
	var o models.LinkPreviewOptions
	_ = json.Unmarshal([]byte(r.FormValue("link_preview_options")), &o) // empty without options
	return o.IsDisabled == nil || !*o.IsDisabled
}

const (
	maxUnits = 4096    // UTF-16 units of a message after its markup
	maxBytes = 1 << 15 // of a message with its markup
)

// textOf returns the text of a request without its markup, and reads the form of the request.
func textOf(r *http.Request) (plain string, err error) {
	_ = r.ParseMultipartForm(1 << 20) // a request of another form has no values
	plain = r.FormValue("text")
	if len(plain) > maxBytes {
		return "", errors.New("text is too long")
	}
	if r.FormValue("parse_mode") == string(models.ParseModeHTML) {
		plain, err = withoutTags(plain)
	}
	switch n := units(strings.TrimSpace(plain)); {
	case err != nil:
		return "", err
	case n == 0:
		return "", errors.New("message text is empty")
	case n > maxUnits:
		return "", errors.New("message is too long")
	}
	return plain, nil
}

var (
	tag       = regexp.MustCompile(`<(/?)([a-z][a-z0-9-]*|)[^<>]*>?`)
	supported = []string{"b", "strong", "i", "em", "u", "ins", "s", "strike", "del", "a", "code", "pre", "blockquote",
		"tg-spoiler", "tg-emoji", "span"}
)

// withoutTags returns the text of HTML. Telegram refuses tags that it does not know, or that are not nested.
func withoutTags(source string) (string, error) {
	var open []string
	for _, at := range tag.FindAllStringSubmatch(source, -1) {
		name := at[2]
		switch {
		case !strings.HasSuffix(at[0], ">") || !slices.Contains(supported, name):
			return "", fmt.Errorf("can't parse entities: Unsupported start tag %q", name)
		case at[1] == "":
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			return "", fmt.Errorf("can't parse entities: Unmatched end tag, found %q", name)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return "", fmt.Errorf("can't parse entities: Can't find end tag corresponding to start tag %q", open[0])
	}
	return html.UnescapeString(tag.ReplaceAllString(source, "")), nil
}

func buttonsOf(markup string) (out []channel.Choice) {
	var m models.InlineKeyboardMarkup
	_ = json.Unmarshal([]byte(markup), &m) // empty without buttons
	for _, row := range m.InlineKeyboard {
		for _, b := range row {
			out = append(out, channel.Choice{Label: b.Text, Data: b.CallbackData})
		}
	}
	return out
}

func now() int { return int(time.Now().Unix()) }

// units counts as Telegram does.
func units(text string) int { return len(utf16.Encode([]rune(text))) }

func bot() *models.User {
	return &models.User{ID: 1, IsBot: true, FirstName: "Cairn", Username: username}
}

// userOf returns a user with the default name.
func userOf(user string) *models.User {
	id, _ := strconv.ParseInt(user, 10, 64) // digits
	return &models.User{ID: id, FirstName: "Ada"}
}

// chatOf returns a private chat, whose ID is that of the user, or a group, whose ID is negative.
func chatOf(chat string) models.Chat {
	id, _ := strconv.ParseInt(chat, 10, 64) // a number
	if id < 0 {
		return models.Chat{ID: id, Type: models.ChatTypeSupergroup, Title: "Group", IsForum: true}
	}
	return models.Chat{ID: id, Type: models.ChatTypePrivate, FirstName: "Ada"}
}

var marked = regexp.MustCompile(`(?:^|\s)(/[A-Za-z0-9_]{1,64}(?:@\w+)?|@[A-Za-z]\w{4,31})(?:[^\w/<>]|$)`)

// entitiesOf returns the commands and the mentions in a text of a user.
func entitiesOf(text string) (out []models.MessageEntity) {
	for _, at := range marked.FindAllStringSubmatchIndex(text, -1) {
		e := models.MessageEntity{Type: models.MessageEntityTypeMention, Offset: units(text[:at[2]]),
			Length: units(text[at[2]:at[3]])}
		if text[at[2]] == '/' {
			e.Type = models.MessageEntityTypeBotCommand
		}
		out = append(out, e)
	}
	return out
}

// setMenu replaces the commands of a language. Telegram refuses names and descriptions that it cannot show.
func (s *Server) setMenu(w http.ResponseWriter, r *http.Request) {
	var commands []models.BotCommand
	if err := json.Unmarshal([]byte(r.FormValue("commands")), &commands); err != nil || len(commands) > 100 {
		fail(w, http.StatusBadRequest, "Bad Request: can't parse commands", 0)
		return
	}
	menu := map[string]string{}
	for _, c := range commands {
		if n := len([]rune(c.Description)); !commandName.MatchString(c.Command) || n == 0 || n > 256 {
			fail(w, http.StatusBadRequest, "Bad Request: BOT_COMMAND_INVALID", 0)
			return
		}
		menu[c.Command] = c.Description
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.menus[r.FormValue("language_code")] = menu
	answer(w, true)
}

var commandName = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)

// Menu returns the descriptions of the commands in a language, by their names.
func (s *Server) Menu(language string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.menus[language])
}
