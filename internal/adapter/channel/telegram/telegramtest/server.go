// Package telegramtest is a server with the methods of Telegram's Bot API that Cairn uses, for tests. It can
// repeat updates, refuse requests, and fail after it has sent a message.
package telegramtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"github.com/go-telegram/bot/models"

	"cairn/internal/adapter/channel/channeltest"
	"cairn/internal/domain/channel"
)

// Token is the token that the server accepts.
const Token = "12345:test"

// username is the name of the bot.
const username = "cairn_bot"

// Server is a running server.
type Server struct {
	*httptest.Server
	mu      sync.Mutex
	news    chan struct{} // closed when there is a new update
	updates []models.Update
	last    models.Update
	next    int64
	sent    []channeltest.Message
	faults  []channeltest.Fault
	said    map[int]models.Message // messages of users by their ID
	files   map[string][]byte
}

var _ channeltest.Platform = (*Server)(nil)

// Start starts a server on loopback.
func Start() *Server {
	s := &Server{news: make(chan struct{}), next: 1, said: map[int]models.Message{}, files: map[string][]byte{}}
	mux := http.NewServeMux()
	for method, serve := range map[string]http.HandlerFunc{
		"getMe": s.me, "getUpdates": s.poll, "sendMessage": s.send, "editMessageText": s.edit, "getFile": s.file,
		"sendChatAction": done, "answerCallbackQuery": done,
	} {
		mux.HandleFunc("/bot"+Token+"/"+method, serve)
	}
	mux.HandleFunc("/file/bot"+Token+"/{id}", s.download)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/bot"+Token+"/") {
			fail(w, http.StatusNotFound, "Not Found: method not found", 0)
			return
		}
		fail(w, http.StatusUnauthorized, "Unauthorized", 0)
	})
	s.Server = httptest.NewServer(mux)
	return s
}

// Private returns the ID of the private chat of a user, which is that of the user.
func (s *Server) Private(user string) string { return user }

// Group returns the ID of a group.
func (s *Server) Group(number int) string { return strconv.Itoa(-1000 - number) }

// Say makes a user write.
func (s *Server) Say(m channeltest.Said) string { return s.SayWith(m, nil) }

// SayWith makes a user write with a file, unless it is nil.
func (s *Server) SayWith(m channeltest.Said, file []byte) string {
	user, _ := strconv.ParseInt(m.User, 10, 64) // digits
	chat := models.Chat{ID: user, Type: models.ChatTypePrivate}
	if m.Chat != "" && m.Chat != m.User {
		chat = models.Chat{Type: models.ChatTypeSupergroup}
		chat.ID, _ = strconv.ParseInt(m.Chat, 10, 64)
	}
	if m.Mention {
		m.Text = "@" + username + " " + m.Text
	}
	out := models.Message{From: &models.User{ID: user, FirstName: m.Name, IsBot: m.Bot}, Chat: chat,
		Text: m.Text, Date: int(time.Now().Unix())}
	if out.MessageThreadID, _ = strconv.Atoi(m.Thread); m.Thread != "" {
		out.IsTopicMessage = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.ID = int(s.next)
	if file != nil {
		id := fmt.Sprintf("file-%d", out.ID)
		s.files[id] = file
		out.Text, out.Caption = "", m.Text
		out.Document = &models.Document{FileID: id, FileName: "notes.txt", MimeType: "text/plain",
			FileSize: int64(len(file))}
	}
	s.said[out.ID] = out
	s.add(models.Update{Message: &out})
	return strconv.Itoa(out.ID)
}

// Press makes a user press a button of a message of the bot.
func (s *Server) Press(user, chat, data string) {
	id, _ := strconv.ParseInt(user, 10, 64)
	at, _ := strconv.ParseInt(chat, 10, 64)
	kind := models.ChatTypePrivate
	if chat != user {
		kind = models.ChatTypeSupergroup
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(models.Update{CallbackQuery: &models.CallbackQuery{ID: strconv.FormatInt(s.next, 10), Data: data,
		From: models.User{ID: id, FirstName: "Ada"},
		Message: models.MaybeInaccessibleMessage{Type: models.MaybeInaccessibleMessageTypeMessage,
			Message: &models.Message{ID: 1, Date: int(time.Now().Unix()), Chat: models.Chat{ID: at, Type: kind}}}}})
}

// Edit makes a user change a message.
func (s *Server) Edit(_, messageID, text string) bool {
	id, _ := strconv.Atoi(messageID)
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.said[id]
	m.Text = text
	s.add(models.Update{EditedMessage: &m})
	return true
}

// Delete does nothing: Telegram does not notify bots.
func (s *Server) Delete(_, _ string) bool { return false }

// add stores an update and wakes the polls. The lock is held.
func (s *Server) add(u models.Update) {
	u.ID = s.next
	s.next++
	s.last = u
	s.updates = append(s.updates, u)
	close(s.news)
	s.news = make(chan struct{})
}

// Repeat delivers the latest update once more.
func (s *Server) Repeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updates = append(s.updates, s.last)
	close(s.news)
	s.news = make(chan struct{})
}

// Drop breaks all connections.
func (s *Server) Drop() { s.CloseClientConnections() }

// Fail makes the next requests to send fail.
func (s *Server) Fail(faults ...channeltest.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Sent returns the messages that were sent.
func (s *Server) Sent() []channeltest.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

func (s *Server) me(w http.ResponseWriter, _ *http.Request) {
	answer(w, models.User{ID: 1, IsBot: true, FirstName: "Cairn", Username: username})
}

func done(w http.ResponseWriter, _ *http.Request) { answer(w, true) }

// poll returns the updates from an offset on, and forgets the earlier ones.
func (s *Server) poll(w http.ResponseWriter, r *http.Request) {
	offset, _ := strconv.ParseInt(r.FormValue("offset"), 10, 64)
	seconds, _ := strconv.Atoi(r.FormValue("timeout"))
	patience := time.After(time.Duration(seconds) * time.Second)
	for {
		s.mu.Lock()
		kept := s.updates[:0:0]
		for _, u := range s.updates {
			if u.ID >= offset {
				kept = append(kept, u)
			}
		}
		s.updates = kept
		news := s.news
		s.mu.Unlock()
		if len(kept) > 0 {
			answer(w, kept)
			return
		}
		select {
		case <-news:
		case <-patience:
			answer(w, []models.Update{})
			return
		case <-r.Context().Done():
			return
		}
	}
}

const mostUnits = 4096 // UTF-16 units of a message after its markup

func (s *Server) send(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseMultipartForm(1 << 20) // a request of another form has no values
	s.mu.Lock()
	defer s.mu.Unlock()
	text := r.FormValue("text")
	if n := len(utf16.Encode([]rune(plain(text, r.FormValue("parse_mode"))))); n == 0 || n > mostUnits {
		fail(w, http.StatusBadRequest, "Bad Request: message is too long", 0)
		return
	}
	f := s.fault()
	switch f.Kind {
	case channeltest.Busy:
		fail(w, http.StatusTooManyRequests, "Too Many Requests", int(f.RetryAfter.Seconds()))
		return
	case channeltest.Broken:
		fail(w, http.StatusInternalServerError, "Internal Server Error", 0)
		return
	case channeltest.Gone:
		fail(w, http.StatusForbidden, "Forbidden: bot was blocked by the user", 0)
		return
	}
	m := channeltest.Message{
		ID:      strconv.Itoa(len(s.sent) + 1),
		Chat:    r.FormValue("chat_id"),
		Text:    text,
		At:      time.Now(),
		Thread:  r.FormValue("message_thread_id"),
		Buttons: buttonsOf(r.FormValue("reply_markup")),
	}
	s.sent = append(s.sent, m)
	if f.Kind == channeltest.Unknown {
		panic(http.ErrAbortHandler) // the connection breaks
	}
	chat, _ := strconv.ParseInt(m.Chat, 10, 64)
	answer(w, models.Message{ID: len(s.sent), Chat: models.Chat{ID: chat, Type: models.ChatTypePrivate}, Text: text})
}

// fault returns the fault of the next request. The lock is held.
func (s *Server) fault() (f channeltest.Fault) {
	if len(s.faults) > 0 {
		f, s.faults = s.faults[0], s.faults[1:]
	}
	return f
}

// plain returns the text of a message without its markup.
func plain(text, mode string) string {
	if mode != string(models.ParseModeHTML) {
		return text
	}
	var out strings.Builder
	tag := false
	for _, r := range text {
		switch {
		case r == '<':
			tag = true
		case r == '>':
			tag = false
		case !tag:
			out.WriteRune(r)
		}
	}
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`).Replace(out.String())
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

func (s *Server) edit(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseMultipartForm(1 << 20) // a request of another form has no values
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.sent {
		if s.sent[i].ID == r.FormValue("message_id") && s.sent[i].Chat == r.FormValue("chat_id") {
			s.sent[i].Text = r.FormValue("text")
			answer(w, models.Message{ID: i + 1})
			return
		}
	}
	fail(w, http.StatusBadRequest, "Bad Request: message to edit not found", 0)
}

func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseMultipartForm(1 << 20) // a request of another form has no values
	id := r.FormValue("file_id")
	answer(w, models.File{FileID: id, FilePath: id})
}

func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = w.Write(s.files[r.PathValue("id")]) // a write error: the client has left
}

func answer(w http.ResponseWriter, result any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "result": result}) // a write error: the client has left
}

func fail(w http.ResponseWriter, status int, description string, after int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	body := map[string]any{"ok": false, "error_code": status, "description": description}
	if after > 0 {
		body["parameters"] = map[string]any{"retry_after": after}
	}
	_ = json.NewEncoder(w).Encode(body) // a write error: the client has left
}
