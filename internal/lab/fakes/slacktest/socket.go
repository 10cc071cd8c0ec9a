package slacktest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

const (
	maxSockets  = 10
	maxAttempts = 20 // Slack repeats an event 3 times within 6 minutes
	writeTime   = time.Second
	graceTime   = 2 * time.Second // between the warning and the end of a connection; Slack has 10 s
)

// delivery is an event that is not acknowledged.
type delivery struct {
	kind     string // events_api or interactive
	payload  []byte
	id       string // of its envelope
	attempts int
	on       *socket // that it was written to; nil if it was not
	at       time.Time
}

// socket is a connection of Socket Mode.
type socket struct {
	*websocket.Conn
	closed  bool
	leaving bool // a warning was sent
}

// deliver puts an event behind the others.
func (s *Server) deliver(d *delivery) {
	d.id = s.id("envelope-")
	s.latest = d
	s.pending = append(s.pending, d)
	s.pump()
}

// pump delivers what is due, in its order.
func (s *Server) pump() {
	if s.hook.on {
		select {
		case s.hook.news <- struct{}{}:
		default: // the hook looks anyway
		}
		return
	}
	to := s.receiver()
	if to == nil {
		return
	}
	s.pending = slices.DeleteFunc(s.pending, func(d *delivery) bool {
		if d.on != nil && !d.on.closed && time.Since(d.at) < s.Patience {
			return false
		}
		if d.attempts > 0 && (d.kind == "interactive" || d.attempts > maxAttempts) {
			return true // Slack does not repeat it any more
		}
		reason := ""
		if d.attempts > 0 {
			reason = "timeout"
		}
		to.write(object{"envelope_id": d.id, "type": d.kind, "payload": json.RawMessage(d.payload),
			"accepts_response_payload": false, "retry_attempt": d.attempts, "retry_reason": reason})
		d.on, d.at = to, time.Now()
		d.attempts++
		return false
	})
}

// receiver returns the newest connection, but one that ends soon only if there is no other one.
func (s *Server) receiver() (best *socket) {
	for _, k := range s.sockets {
		if !k.closed && (best == nil || best.leaving || !k.leaving) {
			best = k
		}
	}
	return best
}

// write writes a frame. Without success, the connection has ended.
func (k *socket) write(frame object) {
	if k.closed {
		return
	}
	_ = k.SetWriteDeadline(time.Now().Add(writeTime)) // an error is also one of the write
	if err := k.WriteMessage(websocket.TextMessage, encoded(frame)); err != nil {
		k.closed = true
	}
}

// repeat delivers again what was not acknowledged, until the server ends.
func (s *Server) repeat() {
	tick := time.NewTicker(s.Patience / 4)
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-tick.C:
			s.mu.Lock()
			s.pump()
			s.mu.Unlock()
		}
	}
}

func (s *Server) openConnection(map[string]string) (object, string) {
	s.sockets = slices.DeleteFunc(s.sockets, func(k *socket) bool { return k.closed })
	if len(s.sockets) >= maxSockets {
		return nil, "too_many_websockets"
	}
	ticket := s.id("ticket-")
	s.tickets[ticket] = true
	return object{"url": "ws" + strings.TrimPrefix(s.URL, "http") + "/link/?ticket=" + ticket + "&app_id=" + appID}, ""
}

var upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}

// link serves a connection. Its ticket is valid once.
func (s *Server) link(w http.ResponseWriter, r *http.Request) {
	ticket := r.URL.Query().Get("ticket")
	s.mu.Lock()
	valid := s.tickets[ticket]
	delete(s.tickets, ticket)
	s.mu.Unlock()
	if !valid {
		http.Error(w, "invalid ticket", http.StatusForbidden)
		return
	}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	defer conn.Close()
	k := &socket{Conn: conn}
	s.mu.Lock()
	s.opened++
	s.sockets = append(s.sockets, k)
	k.write(object{"type": "hello", "num_connections": len(s.sockets), "debug_info": object{"host": "applink-test",
		"build_number": 1, "approximate_connection_time": 18060}, "connection_info": object{"app_id": appID}})
	s.pump()
	s.mu.Unlock()
	go s.beat(k)
	for {
		var ack struct {
			ID string `json:"envelope_id"`
		}
		if err := conn.ReadJSON(&ack); err != nil {
			break
		}
		s.mu.Lock()
		s.pending = slices.DeleteFunc(s.pending, func(d *delivery) bool { return d.id == ack.ID })
		s.mu.Unlock()
	}
	s.mu.Lock()
	k.closed = true
	s.mu.Unlock()
}

// beat sends pings until the connection ends.
func (s *Server) beat(k *socket) {
	for {
		err := k.WriteControl(websocket.PingMessage, []byte("Ping from applink-test"), time.Now().Add(writeTime))
		if err != nil {
			return
		}
		select {
		case <-s.done:
			return
		case <-time.After(s.Heartbeat):
		}
	}
}

// Drop breaks all connections.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.sockets {
		k.closed = true
		_ = k.NetConn().Close() // it may have ended
	}
	if s.hook.cancel != nil {
		s.hook.cancel()
	}
}

// Warn asks for other connections, as Slack does before it ends old ones.
func (s *Server) Warn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.sockets {
		k.write(object{"type": "disconnect", "reason": "warning", "debug_info": object{"host": "applink-test"}})
		k.leaving = true
		time.AfterFunc(graceTime, func() { _ = k.NetConn().Close() }) // it may have ended
	}
}

// Opened returns how many connections were opened.
func (s *Server) Opened() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// Pending returns how many events are not acknowledged.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending)
}
