package dingtalktest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// topicMessage is the topic of messages.
const topicMessage = "/v1.0/im/bot/messages/get"

func (s *Server) endpoint(w http.ResponseWriter, r *http.Request) {
	var body struct {
		ClientID      string `json:"clientId"`
		ClientSecret  string `json:"clientSecret"`
		Subscriptions []struct{ Type, Topic string }
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	if err != nil || body.ClientID != ClientID || body.ClientSecret != ClientSecret {
		refuse(w, http.StatusUnauthorized, "authFailed", "authentication failed")
		return
	}
	found := false
	for _, sub := range body.Subscriptions {
		found = found || sub.Type == "CALLBACK" && sub.Topic == topicMessage
	}
	if !found {
		refuse(w, http.StatusBadRequest, "invalidParameter", "no subscription of messages")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ticket := rand.Text()
	s.tickets[ticket] = true
	write(w, http.StatusOK, object{"endpoint": strings.Replace(s.URL, "http", "ws", 1) + "/connect", "ticket": ticket})
}

// frame is a message of a connection.
type frame struct {
	SpecVersion string            `json:"specVersion"`
	Type        string            `json:"type"`
	Headers     map[string]string `json:"headers"`
	Data        string            `json:"data"`
}

// line is a connection.
type line struct {
	ws *websocket.Conn
	mu sync.Mutex
}

func (l *line) write(kind, topic, id string, data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	_ = l.ws.SetWriteDeadline(now.Add(time.Second))
	return l.ws.WriteJSON(frame{"1.0", kind, map[string]string{"appId": "app-1", "connectionId": "connection-1",
		"contentType": "application/json", "messageId": id, "time": strconv.FormatInt(now.UnixMilli(), 10),
		"topic": topic}, string(data)})
}

// Send sends a message to the robot.
func (l *line) Send(id string, body []byte) error { return l.write("CALLBACK", topicMessage, id, body) }

// Close breaks the connection.
func (l *line) Close() error { return l.ws.Close() }

func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	s.mu.Lock()
	ok := s.tickets[ticket]
	delete(s.tickets, ticket)
	s.mu.Unlock()
	if !ok {
		refuse(w, http.StatusUnauthorized, "authFailed", "the ticket is not valid")
		return
	}
	var upgrader websocket.Upgrader
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the response states it
	}
	l := &line{ws: ws}
	defer ws.Close()
	s.mu.Lock()
	s.lines = append(s.lines, l)
	s.mu.Unlock()
	s.queue.Attach(l)
	defer s.detach(l)
	for {
		var answer struct {
			Code    int               `json:"code"`
			Headers map[string]string `json:"headers"`
			Data    string            `json:"data"`
		}
		if ws.ReadJSON(&answer) != nil {
			return
		}
		id := answer.Headers["messageId"]
		switch {
		case strings.HasPrefix(id, "system-"):
			s.mu.Lock()
			s.answers = append(s.answers, answer.Data)
			s.mu.Unlock()
		case answer.Code == http.StatusOK:
			s.queue.Done(id)
		}
	}
}

func (s *Server) detach(l *line) {
	s.queue.Detach(l)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = slices.DeleteFunc(s.lines, func(o *line) bool { return o == l })
}

// System sends a message of the system on all connections: ping or disconnect.
func (s *Server) System(topic, data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lines {
		_ = l.write("SYSTEM", topic, s.id("system-"), []byte(data))
	}
}

// Lines returns the number of connections.
func (s *Server) Lines() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines)
}

// Answers returns the answers to messages of the system.
func (s *Server) Answers() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.answers)
}

// Open returns the number of messages that are not acknowledged.
func (s *Server) Open() int { return s.queue.Open() }
