// Package feishutest is a server with the parts of Feishu's open platform that Cairn uses, for tests: credentials,
// messages with cards, and the long connection with protobuf frames. It delivers messages again until they are
// acknowledged, recognizes the uuid of a message, refuses cards that are too large or not valid, and can fail.
package feishutest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cairn/internal/lab/fakes/channeltest"
)

// Credentials that the server accepts, and the open_id of the bot.
const (
	AppID     = "cli_a1b2c3"
	AppSecret = "feishu-app-secret"
	BotID     = "ou_bot"
)

// Options changes a server.
type Options struct {
	Retry     time.Duration // until a message is delivered again; 0 means 300 ms instead of Feishu's 15 s
	Ping      int           // seconds between two pings of clients; 0 means 120
	FrameSize int           // most bytes of the payload of a frame; 0 means 4,096
}

// Server is a running server.
type Server struct {
	*httptest.Server
	Options
	queue *channeltest.Queue

	mu       sync.Mutex
	next     int
	token    string
	ticket   string
	scopes   []string
	names    map[string]string // of users
	messages map[string]*message
	recalled map[string]*message
	threads  map[string]string // first message → name of the thread
	sent     []*message        // by the bot
	uuids    map[string]*message
	files    map[string][]byte
	faults   []channeltest.Fault
	latest   *event
	pings    int
	shut     bool
}

// message is a message of a chat.
type message struct {
	channeltest.Message
	sender string                    // open_id, or the app_id of the bot
	values map[string]map[string]any // data of a button → its value
	card   bool
}

var _ channeltest.Platform = (*Server)(nil)

// Start starts a server on loopback.
func Start(o Options) *Server {
	if o.Retry == 0 {
		o.Retry = 300 * time.Millisecond
	}
	if o.Ping == 0 {
		o.Ping = 120
	}
	if o.FrameSize == 0 {
		o.FrameSize = 4096
	}
	s := &Server{
		Options:  o,
		queue:    channeltest.NewQueue(o.Retry),
		token:    "t-" + rand.Text(),
		ticket:   rand.Text(),
		scopes:   []string{"im:message:send_as_bot", "im:message.p2p_msg:readonly", "contact:user.base:readonly"},
		names:    map[string]string{},
		messages: map[string]*message{},
		recalled: map[string]*message{},
		threads:  map[string]string{},
		uuids:    map[string]*message{},
		files:    map[string][]byte{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /open-apis/auth/v3/tenant_access_token/internal", s.tenantToken)
	mux.HandleFunc("POST /callback/ws/endpoint", s.endpoint)
	mux.HandleFunc("GET /ws/v2", s.connect)
	for pattern, handle := range map[string]http.HandlerFunc{
		"GET /open-apis/bot/v3/info":                          s.bot,
		"GET /open-apis/application/v6/scopes":                s.granted,
		"GET /open-apis/contact/v3/users/{id}":                s.user,
		"GET /open-apis/im/v1/chats/{id}":                     s.chat,
		"GET /open-apis/im/v1/messages/{id}":                  s.read,
		"POST /open-apis/im/v1/messages":                      s.create,
		"POST /open-apis/im/v1/messages/{id}/reply":           s.reply,
		"PATCH /open-apis/im/v1/messages/{id}":                s.patch,
		"DELETE /open-apis/im/v1/messages/{id}":               s.recall,
		"GET /open-apis/im/v1/messages/{id}/resources/{file}": s.resource,
	} {
		mux.HandleFunc(pattern, s.authorized(handle))
	}
	s.Server = httptest.NewServer(mux)
	return s
}

// Close stops the server.
func (s *Server) Close() {
	s.queue.Close()
	s.Server.Close()
}

// Expire makes the token that clients have invalid.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = "t-" + rand.Text()
}

// Shut makes the server refuse the connections that clients have asked for.
func (s *Server) Shut(shut bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = shut
}

// Grant replaces the permissions of the app.
func (s *Server) Grant(scopes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scopes = scopes
}

// Pings returns how many pings arrived on connections.
func (s *Server) Pings() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pings
}

// Open returns the number of events that are not acknowledged.
func (s *Server) Open() int { return s.queue.Open() }

// object is a JSON object.
type object = map[string]any

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func succeed(w http.ResponseWriter, data any) {
	write(w, http.StatusOK, object{"code": 0, "msg": "success", "data": data})
}

func refuse(w http.ResponseWriter, status, code int, message string) {
	write(w, status, object{"code": code, "msg": message})
}

func (s *Server) authorized(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		ok := r.Header.Get("Authorization") == "Bearer "+s.token
		s.mu.Unlock()
		if !ok {
			refuse(w, http.StatusBadRequest, 99991663, "Invalid access token for authorization")
			return
		}
		next(w, r)
	}
}

func (s *Server) tenantToken(w http.ResponseWriter, r *http.Request) {
	var body struct {
		AppID     string `json:"app_id"`
		AppSecret string `json:"app_secret"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || body.AppID != AppID || body.AppSecret != AppSecret {
		refuse(w, http.StatusOK, 10014, "app secret invalid")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	write(w, http.StatusOK, object{"code": 0, "msg": "ok", "tenant_access_token": s.token, "expire": 7200})
}

func (s *Server) bot(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, object{"code": 0, "msg": "ok",
		"bot": object{"activate_status": 2, "app_name": "Cairn", "open_id": BotID}})
}

func (s *Server) granted(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := []object{}
	for _, scope := range s.scopes {
		all = append(all, object{"scope_name": scope, "grant_status": 1, "scope_type": "tenant"})
	}
	succeed(w, object{"scopes": all})
}

func (s *Server) user(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("id")
	name, ok := s.names[id]
	switch {
	case r.URL.Query().Get("user_id_type") != "open_id" || !ok:
		refuse(w, http.StatusBadRequest, 41050, "no user authority error")
	case !slices.Contains(s.scopes, "contact:user.base:readonly"):
		refuse(w, http.StatusBadRequest, 99991672, "Access denied")
	default:
		succeed(w, object{"user": object{"open_id": id, "name": name}})
	}
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	succeed(w, object{"chat_mode": modeOf(r.PathValue("id")), "tenant_key": "tenant"})
}

func (s *Server) read(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("id")
	m, recalled := s.messages[id], s.recalled[id] != nil
	if recalled {
		m = s.recalled[id]
	}
	if m == nil {
		refuse(w, http.StatusBadRequest, 230001, "invalid message_id")
		return
	}
	kind, idType := "user", "open_id"
	if m.sender == AppID {
		kind, idType = "app", "app_id"
	}
	succeed(w, object{"items": []object{{"message_id": m.ID, "chat_id": m.Chat, "deleted": recalled,
		"sender": object{"id": m.sender, "id_type": idType, "sender_type": kind}}}})
}

func (s *Server) resource(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	data, ok := s.files[r.PathValue("id")+"/"+r.URL.Query().Get("type")+"/"+r.PathValue("file")]
	s.mu.Unlock()
	if !ok {
		refuse(w, http.StatusBadRequest, 234001, "Invalid request param")
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(data)
}

// id returns a new ID. The caller holds the lock.
func (s *Server) id(prefix string) string {
	s.next++
	return prefix + strconv.Itoa(s.next)
}

// Beginnings of the IDs of chats.
const (
	privatePrefix = "oc_private_"
	groupPrefix   = "oc_group_"
)

func modeOf(chat string) string {
	if strings.HasPrefix(chat, privatePrefix) {
		return "p2p"
	}
	return "group"
}
