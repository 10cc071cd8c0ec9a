package feishutest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"cairn/internal/adapter/channel/feishu"
)

func (s *Server) endpoint(w http.ResponseWriter, r *http.Request) {
	var body struct{ AppID, AppSecret string }
	if json.NewDecoder(r.Body).Decode(&body) != nil || body.AppID != AppID || body.AppSecret != AppSecret {
		refuse(w, http.StatusOK, 1000040345, "app_id or app_secret is invalid")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	query := url.Values{"device_id": {s.id("device-")}, "service_id": {"33554678"}, "ticket": {s.ticket}}
	succeed(w, object{"URL": strings.Replace(s.URL, "http", "ws", 1) + "/ws/v2?" + query.Encode(),
		"ClientConfig": s.clientConfig()})
}

func (s *Server) clientConfig() object {
	return object{"ReconnectCount": -1, "ReconnectInterval": 1, "ReconnectNonce": 0, "PingInterval": s.Ping}
}

// line is a long connection.
type line struct {
	ws   *websocket.Conn
	mu   sync.Mutex
	size int
}

func (l *line) write(f *feishu.Frame) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.ws.SetWriteDeadline(time.Now().Add(time.Second))
	return l.ws.WriteMessage(websocket.BinaryMessage, f.Marshal())
}

// Send sends an event in as many frames as it needs.
func (l *line) Send(id string, body []byte) error {
	sum := max(1, (len(body)+l.size-1)/l.size)
	for seq := range sum {
		piece := body[seq*l.size : min(len(body), (seq+1)*l.size)]
		err := l.write(&feishu.Frame{SeqID: 1, LogID: 2, Service: 33554678, Method: feishu.Data, Payload: piece,
			Headers: []feishu.Header{
				{Key: feishu.HeaderType, Value: "event"},
				{Key: feishu.HeaderMessage, Value: id},
				{Key: feishu.HeaderSum, Value: strconv.Itoa(sum)},
				{Key: feishu.HeaderSeq, Value: strconv.Itoa(seq)},
				{Key: feishu.HeaderTrace, Value: "trace-" + id},
				{Key: "timestamp", Value: milliseconds(time.Now())},
			}})
		if err != nil {
			return err
		}
	}
	return nil
}

// Close breaks the connection.
func (l *line) Close() error { return l.ws.Close() }

func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	shut := s.shut
	s.mu.Unlock()
	if shut || r.URL.Query().Get("ticket") != s.ticket {
		w.Header().Set("Handshake-Status", "514")
		w.Header().Set("Handshake-Msg", "auth failed")
		w.Header().Set("Handshake-Autherrcode", "1000040344")
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	var upgrader websocket.Upgrader
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the response states it
	}
	l := &line{ws: ws, size: s.FrameSize}
	defer ws.Close()
	s.queue.Attach(l)
	defer s.queue.Detach(l)
	for {
		_, raw, err := ws.ReadMessage()
		if err != nil {
			return
		}
		var f feishu.Frame
		if f.Unmarshal(raw) != nil {
			return
		}
		switch f.Get(feishu.HeaderType) {
		case "ping":
			if s.pong(l, &f) != nil {
				return
			}
		case "event":
			var answer struct {
				Code int `json:"code"`
			}
			if json.Unmarshal(f.Payload, &answer) == nil && answer.Code == http.StatusOK {
				s.queue.Done(f.Get(feishu.HeaderMessage))
			}
		}
	}
}

func (s *Server) pong(l *line, ping *feishu.Frame) error {
	s.mu.Lock()
	s.pings++
	s.mu.Unlock()
	payload, _ := json.Marshal(s.clientConfig()) // numbers
	return l.write(&feishu.Frame{Service: ping.Service, Method: feishu.Control, Payload: payload,
		Headers: []feishu.Header{{Key: feishu.HeaderType, Value: "pong"}}})
}
