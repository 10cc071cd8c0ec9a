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

	"github.com/go-telegram/bot/models"

	"cairn/internal/domain/channel"
	"cairn/internal/lab/fakes/channeltest"
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
	updates []update
	last    update
	next    int64 // ID of the next update
	lastID  int   // of messages
	sent    []*post
	shown   []Preview
	faults  []channeltest.Fault
	said    map[int]*models.Message // messages of users by their ID
	files   map[string][]byte
	menus   map[string]map[string]string // descriptions of commands by their names, by the language
}

var _ channeltest.Platform = (*Server)(nil)

// Start starts a server on loopback.
func Start() *Server {
	s := &Server{news: make(chan struct{}), next: 1, said: map[int]*models.Message{}, files: map[string][]byte{},
		menus: map[string]map[string]string{}}
	mux := http.NewServeMux()
	for method, serve := range map[string]http.HandlerFunc{
		"getMe": s.me, "getUpdates": s.poll, "sendMessage": s.send, "editMessageText": s.edit, "getFile": s.file,
		"sendMessageDraft": s.preview, "deleteMessage": s.remove,
		"sendChatAction": done, "answerCallbackQuery": done, "deleteWebhook": done,
		"setMyCommands": s.setMenu,
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
func (s *Server) Say(m channeltest.UserMessage) string { return s.SayWith(m, nil) }

// SayWith makes a user write with a file, unless it is nil.
func (s *Server) SayWith(m channeltest.UserMessage, file []byte) string {
	return s.SayFile(m, Document, file)
}

// What a file is sent as.
const (
	Document = "document"
	Photo    = "photo"
	Voice    = "voice"
)

// SayFile makes a user write with a document, a photo or a voice message, unless it is nil.
func (s *Server) SayFile(m channeltest.UserMessage, as string, file []byte) string {
	if m.Chat == "" {
		m.Chat = m.User
	}
	if m.Mention {
		m.Text = "@" + username + " " + m.Text
	}
	out := &models.Message{From: userOf(m.User), Chat: chatOf(m.Chat), Text: m.Text, Date: now(),
		Entities: entitiesOf(m.Text)}
	out.From.FirstName, out.From.IsBot = m.Name, m.Bot
	if out.MessageThreadID, _ = strconv.Atoi(m.Thread); m.Thread != "" {
		out.IsTopicMessage = true
		out.ReplyToMessage = &models.Message{ID: out.MessageThreadID, Chat: out.Chat, From: bot(), Date: now(),
			ForumTopicCreated: &models.ForumTopicCreated{Name: "Topic"}} // the bot made the topic
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.ID = s.newID()
	if file != nil {
		id := fmt.Sprintf("file-%d", out.ID)
		s.files[id] = file
		out.Text, out.Entities, out.Caption, out.CaptionEntities = "", nil, m.Text, out.Entities
		switch as {
		case Photo:
			out.Photo = []models.PhotoSize{{FileID: id, FileUniqueID: "unique-" + id, FileSize: len(file)}}
		case Voice:
			out.Voice = &models.Voice{FileID: id, FileUniqueID: "unique-" + id, MimeType: "audio/ogg",
				FileSize: int64(len(file))}
		default:
			out.Document = &models.Document{FileID: id, FileUniqueID: "unique-" + id, FileName: "notes.txt",
				MimeType: "text/plain", FileSize: int64(len(file))}
		}
	}
	s.said[out.ID] = out
	s.add(models.Update{Message: out})
	return strconv.Itoa(out.ID)
}

// Press makes a user press a button of the bot's latest message that has it.
func (s *Server) Press(user, chat, data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range slices.Backward(s.sent) {
		if p.Chat != chat || !slices.ContainsFunc(p.Buttons, func(c channel.Choice) bool { return c.Data == data }) {
			continue
		}
		q := &models.CallbackQuery{ID: strconv.FormatInt(s.next, 10), Data: data, From: *userOf(user),
			ChatInstance: "instance" + chat}
		q.Message.Message = p.shown()
		s.add(models.Update{CallbackQuery: q})
		return
	}
}

// Edit makes a user change a message.
func (s *Server) Edit(_, messageID, text string) bool {
	id, _ := strconv.Atoi(messageID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said[id] == nil {
		return false
	}
	m := *s.said[id]
	m.Text, m.Entities, m.EditDate = text, entitiesOf(text), now()
	s.said[id] = &m
	s.add(models.Update{EditedMessage: &m})
	return true
}

// Delete does nothing: Telegram does not notify bots.
func (s *Server) Delete(_, _ string) bool { return false }

// update is an update with its ID.
type update struct {
	id  int64
	raw json.RawMessage
}

// MarshalJSON returns the update as the server sends it.
func (u update) MarshalJSON() ([]byte, error) { return u.raw, nil }

// add stores an update and wakes the polls. The lock is held.
func (s *Server) add(u models.Update) {
	u.ID = s.next
	s.put(u)
}

func (s *Server) put(members any) {
	raw, err := json.Marshal(members)
	if err != nil {
		panic(err) // the fake made the update
	}
	s.last = update{s.next, raw}
	s.next++
	s.updates = append(s.updates, s.last)
	close(s.news)
	s.news = make(chan struct{})
}

// Emit delivers an update of any form.
func (s *Server) Emit(members map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	members["update_id"] = s.next
	s.put(members)
}

// Renumber begins with another ID of updates, as Telegram does after a week without updates. Earlier ones are gone.
func (s *Server) Renumber(next int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updates, s.next = nil, next
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

// Fail makes the next requests to send, change or preview fail.
func (s *Server) Fail(faults ...channeltest.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Sent returns the messages that were sent.
func (s *Server) Sent() (all []channeltest.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.sent {
		all = append(all, p.Message)
	}
	return all
}

// Preview is a text that the bot has shown in a private chat for a while.
type Preview struct {
	Chat, Draft, Text string
	Sent              int // messages of the bot before it
}

// Previews returns what the bot has shown.
func (s *Server) Previews() []Preview {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.shown)
}

// newID returns the ID of the next message. The lock is held.
func (s *Server) newID() int {
	s.lastID++
	return s.lastID
}

func (s *Server) me(w http.ResponseWriter, _ *http.Request) {
	answer(w, bot())
}

func done(w http.ResponseWriter, _ *http.Request) { answer(w, true) }

const (
	maxUpdates = 100 // of a response
	maxAhead   = 10  // that an offset can be above the latest ID; a greater one has no effect
)

// poll returns the updates from an offset on, and forgets the earlier ones.
func (s *Server) poll(w http.ResponseWriter, r *http.Request) {
	offset, _ := strconv.ParseInt(r.FormValue("offset"), 10, 64)
	seconds, _ := strconv.Atoi(r.FormValue("timeout"))
	patience := time.After(time.Duration(seconds) * time.Second)
	for {
		s.mu.Lock()
		if offset > s.next+maxAhead {
			offset = 0
		}
		s.updates = slices.DeleteFunc(slices.Clone(s.updates), func(u update) bool { return u.id < offset })
		kept := s.updates[:min(len(s.updates), maxUpdates)]
		news := s.news
		s.mu.Unlock()
		if len(kept) > 0 {
			answer(w, kept)
			return
		}
		select {
		case <-news:
		case <-patience:
			answer(w, []update{})
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseMultipartForm(1 << 20) // a request of another form has no values
	id := r.FormValue("file_id")
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.files[id]
	if !ok {
		fail(w, http.StatusBadRequest, "Bad Request: invalid file_id", 0)
		return
	}
	answer(w, models.File{FileID: id, FileUniqueID: "unique-" + id, FileSize: int64(len(data)), FilePath: id})
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
