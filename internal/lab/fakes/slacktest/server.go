// Package slacktest is a fake of Slack on loopback, with one workspace and one app: methods of the Web API, Socket Mode
// and the Events API. It repeats events that are not acknowledged, sooner than Slack.
//
// The package slacktest of slack-go would replace none of it: it answers with constants, stores no messages, and has
// neither acknowledgements nor signed requests, tokens or faults.
package slacktest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"cairn/internal/domain/channel"
	"cairn/internal/lab/fakes/channeltest"
)

// Credentials and IDs of the app.
const (
	BotToken      = "xoxb-1-test"
	AppToken      = "xapp-1-test"
	SigningSecret = "signing-secret-of-the-test"
	BotUser       = "U0CAIRN"

	botID = "B0CAIRN"
	appID = "A0CAIRN"
	team  = "T0TEST"
)

// AllScopes are the scopes that Cairn needs.
const AllScopes = "chat:write,channels:history,groups:history,im:history,users:read,files:read"

// Options are what a test can change.
type Options struct {
	Scopes    string        // of the bot; empty means AllScopes
	Patience  time.Duration // before an event is repeated; 0 means 1 s, Slack has 3 s
	Heartbeat time.Duration // between pings; 0 means 1 s
	Refuse    string        // error of messages with blocks; empty means none
}

// Server is a running fake whose app uses Socket Mode.
type Server struct {
	*httptest.Server
	Options

	mu      sync.Mutex
	done    chan struct{}
	clock   int64 // the latest ID, in microseconds
	ids     int   // of events and of other things
	users   map[string]person
	chats   map[string][]*post
	threads map[string]string // chat and thread of Said to its ID, and the other way round
	files   map[string]File
	sent    []*post
	faults  []channeltest.Fault

	pending []*delivery
	latest  *delivery
	tickets map[string]bool
	sockets []*socket
	opened  int // connections
	hook    hook
}

var _ channeltest.Platform = (*Server)(nil)

// object is a JSON object.
type object = map[string]any

// person is a user of the workspace.
type person struct {
	name string
	bot  bool
}

// post is a message in a chat.
type post struct {
	chat, ts, thread string
	body             object // without metadata; replaced by each change
	metadata         any    // of the bot's messages
	text             string
	buttons          []channel.Choice
	at               time.Time
	deleted          bool
	preview          bool // the links of the bot's message are fetched
}

// Start starts a fake.
func Start(o Options) *Server {
	if o.Scopes == "" {
		o.Scopes = AllScopes
	}
	if o.Patience == 0 {
		o.Patience = time.Second
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = time.Second
	}
	s := &Server{Options: o, done: make(chan struct{}), users: map[string]person{}, chats: map[string][]*post{},
		threads: map[string]string{}, files: map[string]File{}, tickets: map[string]bool{}}
	s.hook.news = make(chan struct{}, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("/api/{method}", s.api)
	mux.HandleFunc("GET /link/", s.link)
	mux.HandleFunc("GET /files-pri/{file}/download/{name}", s.download)
	mux.HandleFunc("GET /{$}", s.signIn)
	s.Server = httptest.NewServer(mux)
	go s.repeat()
	return s
}

// API returns the URL before the names of methods.
func (s *Server) API() string { return s.URL + "/api/" }

// Close ends all connections.
func (s *Server) Close() {
	s.mu.Lock()
	close(s.done)
	s.mu.Unlock()
	s.Drop()
	s.Server.Close()
}

// Fail makes the next requests to send or change messages fail.
func (s *Server) Fail(faults ...channeltest.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Sent returns the messages of the bot.
func (s *Server) Sent() (all []channeltest.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.sent {
		thread := p.thread
		if name, ok := s.threads[p.chat+"/"+thread]; ok {
			thread = name
		}
		all = append(all, channeltest.Message{ID: p.ts, Chat: p.chat, Thread: thread, Text: p.text,
			Preview: p.preview, Buttons: p.buttons, At: p.at})
	}
	return all
}

// Private returns the ID of the private chat of a user.
func (s *Server) Private(user string) string { return "D" + user }

// Group returns the ID of a channel.
func (s *Server) Group(number int) string { return "C" + strconv.Itoa(number) }

// stamp returns a new ID of a message, which is its time.
func (s *Server) stamp() string {
	s.clock = max(s.clock+1, time.Now().UnixMicro())
	return fmt.Sprintf("%d.%06d", s.clock/1e6, s.clock%1e6)
}

// id returns a new ID that begins with a letter, such as Ev00000001.
func (s *Server) id(prefix string) string {
	s.ids++
	return fmt.Sprintf("%s%08d", prefix, s.ids)
}

// method is a method of the Web API. It returns its result, or the code of an error.
type method struct {
	token string // that it accepts
	run   func(s *Server, args map[string]string) (out object, code string)
}

var methods = map[string]method{
	"auth.test":             {BotToken, (*Server).authTest},
	"apps.connections.open": {AppToken, (*Server).openConnection},
	"chat.postMessage":      {BotToken, (*Server).postMessage},
	"chat.update":           {BotToken, (*Server).update},
	"chat.delete":           {BotToken, (*Server).remove},
	"conversations.history": {BotToken, (*Server).history},
	"conversations.replies": {BotToken, (*Server).replies},
	"users.info":            {BotToken, (*Server).userInfo},
	"files.info":            {BotToken, (*Server).fileInfo},
}

// api serves a method. All answers but those of some faults have status 200.
func (s *Server) api(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("method")
	m, ok := methods[name]
	if !ok {
		answer(w, nil, "unknown_method")
		return
	}
	args, err := arguments(r)
	if err != nil {
		answer(w, nil, "invalid_json")
		return
	}
	if code := m.refuses(r, args); code != "" {
		answer(w, nil, code)
		return
	}
	out, code, fault := s.call(name, m, args)
	switch fault.Kind {
	case channeltest.Busy:
		w.Header().Set("Retry-After", strconv.Itoa(int(fault.RetryAfter.Seconds())))
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"ok":false,"error":"ratelimited"}`) // a write error: the client has left
		return
	case channeltest.Broken:
		http.Error(w, "<html>Internal Server Error</html>", http.StatusInternalServerError)
		return
	case channeltest.Unknown:
		panic(http.ErrAbortHandler) // the connection breaks
	}
	if m.token == BotToken {
		w.Header()["x-oauth-scopes"] = []string{s.Scopes} // in Slack's case
	}
	answer(w, out, code)
}

// call runs a method, unless a fault keeps it from that.
func (s *Server) call(name string, m method, args map[string]string) (out object, code string,
	fault channeltest.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if (name == "chat.postMessage" || name == "chat.update") && len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	switch fault.Kind {
	case channeltest.Busy, channeltest.Broken:
		return nil, "", fault
	case channeltest.Gone:
		return nil, "channel_not_found", fault
	case channeltest.Refused:
		return nil, "msg_too_long", fault
	}
	out, code = m.run(s, args)
	return out, code, fault
}

// refuses returns the error of a request without the right token.
func (m method) refuses(r *http.Request, args map[string]string) (code string) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if token == "" {
		token = args["token"]
	}
	switch token {
	case m.token:
		return ""
	case "":
		return "not_authed"
	case BotToken, AppToken:
		return "not_allowed_token_type"
	}
	return "invalid_auth"
}

// arguments returns the arguments of a request, which are in its query, a form or JSON.
func arguments(r *http.Request) (map[string]string, error) {
	args := map[string]string{}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // empty if it is invalid
	if media != "application/json" {
		if err := r.ParseForm(); err != nil {
			return nil, err
		}
		for name := range r.Form {
			args[name] = r.Form.Get(name)
		}
		return args, nil
	}
	var members map[string]json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&members); err != nil && err != io.EOF {
		return nil, err
	}
	for name, raw := range members {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		args[name] = text
	}
	return args, nil
}

// answer writes the result of a method, or an error.
func answer(w http.ResponseWriter, out object, code string) {
	body := object{"ok": code == ""}
	if code != "" {
		body["error"] = code
	}
	maps.Copy(body, out)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(body) // a write error means that the client has left
}
