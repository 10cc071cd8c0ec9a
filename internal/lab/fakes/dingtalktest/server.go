// Package dingtalktest is a server with the parts of DingTalk's open platform that Cairn uses, for tests: credentials,
// messages of robots, files, and the Stream mode with JSON frames. It delivers messages again until they are
// acknowledged, and can fail. As DingTalk does, it delivers messages of groups only if they mention the robot.
package dingtalktest

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"cairn/internal/lab/fakes/channeltest"
)

// Credentials that the server accepts.
const (
	ClientID     = "dingabc123"
	ClientSecret = "dingtalk-client-secret"
)

// maxText is the size of a message, in bytes.
const maxText = 20_000

// Server is a running server.
type Server struct {
	*httptest.Server
	queue *channeltest.Queue

	mu       sync.Mutex
	next     int
	token    string
	tickets  map[string]bool // each is for one connection
	lines    []*line
	sent     []channeltest.Message
	files    map[string][]byte
	sessions map[string]string // session of a message → chat
	faults   []channeltest.Fault
	latest   []byte
	answers  []string // to messages of the system
	absent   string   // a user who does not exist
}

var _ channeltest.Platform = (*Server)(nil)

// retryTime is the time after which a message is delivered again.
const retryTime = 300 * time.Millisecond

// Start starts a server on loopback.
func Start() *Server {
	s := &Server{
		queue:    channeltest.NewQueue(retryTime),
		token:    rand.Text(),
		tickets:  map[string]bool{},
		files:    map[string][]byte{},
		sessions: map[string]string{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1.0/oauth2/accessToken", s.accessToken)
	mux.HandleFunc("POST /v1.0/gateway/connections/open", s.endpoint)
	mux.HandleFunc("GET /connect", s.connect)
	mux.HandleFunc("POST /robot/sendBySession", s.sendBySession)
	mux.HandleFunc("GET /files/{code}", s.file)
	mux.HandleFunc("POST /v1.0/robot/oToMessages/batchSend", s.authorized(s.send))
	mux.HandleFunc("POST /v1.0/robot/groupMessages/send", s.authorized(s.send))
	mux.HandleFunc("POST /v1.0/robot/messageFiles/download", s.authorized(s.download))
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
	s.token = rand.Text()
}

// Remove makes a user leave the organization.
func (s *Server) Remove(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.absent = user
}

// object is a JSON object.
type object = map[string]any

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	write(w, status, object{"code": code, "message": message, "requestid": "R-1"})
}

func (s *Server) authorized(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		ok := r.Header.Get("x-acs-dingtalk-access-token") == s.token
		s.mu.Unlock()
		if !ok {
			refuse(w, http.StatusUnauthorized, "InvalidAuthentication", "the access_token is not valid")
			return
		}
		next(w, r)
	}
}

func (s *Server) accessToken(w http.ResponseWriter, r *http.Request) {
	var body struct{ AppKey, AppSecret string }
	if json.NewDecoder(r.Body).Decode(&body) != nil || body.AppKey != ClientID || body.AppSecret != ClientSecret {
		refuse(w, http.StatusBadRequest, "invalidClientIdOrSecret", "invalid clientId or clientSecret")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	write(w, http.StatusOK, object{"accessToken": s.token, "expireIn": 7200})
}

// post is the body of a request to send.
type post struct {
	RobotCode          string   `json:"robotCode"`
	UserIDs            []string `json:"userIds"`
	OpenConversationID string   `json:"openConversationId"`
	MsgKey             string   `json:"msgKey"`
	MsgParam           string   `json:"msgParam"`
}

func (s *Server) send(w http.ResponseWriter, r *http.Request) {
	var p post
	var param struct{ Title, Text string }
	err := json.NewDecoder(r.Body).Decode(&p)
	if err == nil {
		err = json.Unmarshal([]byte(p.MsgParam), &param)
	}
	private := strings.Contains(r.URL.Path, "oToMessages")
	switch {
	case err != nil, p.MsgKey != "sampleMarkdown", param.Title == "", param.Text == "":
		refuse(w, http.StatusBadRequest, "invalidParameter.msgParam.invalid", "invalid msgParam")
		return
	case p.RobotCode != ClientID:
		refuse(w, http.StatusBadRequest, "invalidParameter.robotCode.notExsit", "the robot does not exist")
		return
	case len(param.Text) > maxText:
		refuse(w, http.StatusBadRequest, "invalidParameter.msgParam.tooLong", "msgParam is too long")
		return
	case private && len(p.UserIDs) != 1:
		refuse(w, http.StatusBadRequest, "invalidParameter.userIds.empty", "invalid userIds")
		return
	case !private && !strings.HasPrefix(p.OpenConversationID, groupPrefix):
		refuse(w, http.StatusBadRequest, "invalid.openConversationId", "invalid openConversationId")
		return
	}
	m := channeltest.Message{Chat: p.OpenConversationID, Text: param.Text}
	if private {
		m.Chat = userPrefix + p.UserIDs[0]
	}
	s.store(w, m)
}

// store stores a message of the robot, unless a fault is due.
func (s *Server) store(w http.ResponseWriter, m channeltest.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var fault channeltest.Fault
	if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	switch fault.Kind {
	case channeltest.Busy:
		refuse(w, http.StatusForbidden, "Forbidden.AccessDenied.QpsLimitForApi", "too many requests")
		return
	case channeltest.Broken:
		refuse(w, http.StatusInternalServerError, "ServiceUnavailable", "the service is not available")
		return
	case channeltest.Gone:
		code := "group.disbanded"
		if strings.HasPrefix(m.Chat, userPrefix) {
			code = "staffId.notExisted"
		}
		refuse(w, http.StatusBadRequest, code, "the chat does not exist")
		return
	case channeltest.Refused:
		refuse(w, http.StatusBadRequest, "invalidParameter.msgParam.invalid", "invalid msgParam")
		return
	}
	if s.absent != "" && m.Chat == userPrefix+s.absent {
		write(w, http.StatusOK, object{"processQueryKey": s.id("key-"), "invalidStaffIdList": []string{s.absent},
			"flowControlledStaffIdList": []string{}})
		return
	}
	m.ID, m.At = s.id("key-"), time.Now()
	s.sent = append(s.sent, m)
	if fault.Kind == channeltest.Unknown {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = c.Close()
		}
		return
	}
	write(w, http.StatusOK, object{"processQueryKey": m.ID, "invalidStaffIdList": []string{},
		"flowControlledStaffIdList": []string{}})
}

// sendBySession sends to the chat of a message. Official clients reply so.
func (s *Server) sendBySession(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Text     struct{ Content string }
		Markdown struct{ Text string }
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	chat, ok := s.sessions[r.URL.Query().Get("session")]
	if !ok || json.NewDecoder(r.Body).Decode(&body) != nil {
		write(w, http.StatusOK, object{"errcode": 300001, "errmsg": "session is not valid"})
		return
	}
	s.sent = append(s.sent, channeltest.Message{ID: s.id("key-"), Chat: chat, Text: body.Text.Content +
		body.Markdown.Text, At: time.Now()})
	write(w, http.StatusOK, object{"errcode": 0, "errmsg": "ok"})
}

func (s *Server) download(w http.ResponseWriter, r *http.Request) {
	var body struct{ DownloadCode, RobotCode string }
	s.mu.Lock()
	defer s.mu.Unlock()
	err := json.NewDecoder(r.Body).Decode(&body)
	if _, ok := s.files[body.DownloadCode]; err != nil || !ok || body.RobotCode != ClientID {
		refuse(w, http.StatusBadRequest, "invalidParameter.downloadCode", "invalid downloadCode")
		return
	}
	write(w, http.StatusOK, object{"downloadUrl": s.URL + "/files/" + body.DownloadCode})
}

func (s *Server) file(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = w.Write(s.files[r.PathValue("code")])
}

// id returns a new ID. The caller holds the lock.
func (s *Server) id(prefix string) string {
	s.next++
	return prefix + strconv.Itoa(s.next)
}

// Sent returns the messages of the robot in their order.
func (s *Server) Sent() []channeltest.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]channeltest.Message(nil), s.sent...)
}

// Fail makes the next requests to send a message fail.
func (s *Server) Fail(faults ...channeltest.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}
