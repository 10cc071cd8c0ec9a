// Package telegramtest is a server with the methods of Telegram's Bot API that Cairn uses, for tests. It can
// repeat updates, refuse requests, and fail after it has sent a message.
package telegramtest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-telegram/bot/models"
)

// Token is the token that the server accepts.
const Token = "12345:test"

// Sent is a message that a bot has sent.
type Sent struct {
	ID   int
	Chat string
	Text string
	Mode string // HTML, or empty
	At   time.Time
}

// Fault is how a request to send fails.
type Fault struct {
	Status      int
	RetryAfter  int    // seconds, of status 429
	Description string // replaces the usual one
	Effect      bool   // the message is sent, but the response is lost
}

// Server is a running server.
type Server struct {
	*httptest.Server
	mu      sync.Mutex
	news    chan struct{} // closed when there is a new update
	updates []models.Update
	next    int64
	sent    []Sent
	faults  []Fault
}

// Start starts a server on loopback.
func Start() *Server {
	s := &Server{news: make(chan struct{}), next: 1}
	mux := http.NewServeMux()
	mux.HandleFunc("/bot"+Token+"/getMe", s.me)
	mux.HandleFunc("/bot"+Token+"/getUpdates", s.poll)
	mux.HandleFunc("/bot"+Token+"/sendMessage", s.send)
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

// Say makes a user write in a private chat, and returns the ID of the update.
func (s *Server) Say(user int64, name, text string) int64 {
	return s.add(models.Update{Message: &models.Message{From: &models.User{ID: user, FirstName: name}, Text: text,
		Chat: models.Chat{ID: user, Type: models.ChatTypePrivate}, Date: int(time.Now().Unix())}})
}

// SayInGroup makes a user write in a group, and mention the bot.
func (s *Server) SayInGroup(group, user int64, name, text string) int64 {
	return s.add(models.Update{Message: &models.Message{From: &models.User{ID: user, FirstName: name},
		Text: "@cairn_bot " + text, Chat: models.Chat{ID: group, Type: models.ChatTypeSupergroup},
		Date: int(time.Now().Unix())}})
}

func (s *Server) add(u models.Update) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	u.ID = s.next
	u.Message.ID = int(s.next)
	s.next++
	s.updates = append(s.updates, u)
	close(s.news)
	s.news = make(chan struct{})
	return u.ID
}

// Fail makes the next requests to send fail.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Sent returns the messages that were sent.
func (s *Server) Sent() []Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Sent(nil), s.sent...)
}

func (s *Server) me(w http.ResponseWriter, _ *http.Request) {
	answer(w, models.User{ID: 1, IsBot: true, FirstName: "Cairn", Username: "cairn_bot"})
}

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

func (s *Server) send(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseMultipartForm(1 << 20) // a request of another form has no values
	s.mu.Lock()
	defer s.mu.Unlock()
	var f Fault
	if len(s.faults) > 0 {
		f, s.faults = s.faults[0], s.faults[1:]
	}
	if f.Status != 0 && !f.Effect {
		if f.Description == "" {
			f.Description = http.StatusText(f.Status)
		}
		fail(w, f.Status, f.Description, f.RetryAfter)
		return
	}
	m := Sent{len(s.sent) + 1, r.FormValue("chat_id"), r.FormValue("text"), r.FormValue("parse_mode"), time.Now()}
	s.sent = append(s.sent, m)
	if f.Effect {
		panic(http.ErrAbortHandler) // the connection breaks
	}
	chat, _ := strconv.ParseInt(m.Chat, 10, 64)
	answer(w, models.Message{ID: m.ID, Chat: models.Chat{ID: chat, Type: models.ChatTypePrivate}, Text: m.Text})
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
