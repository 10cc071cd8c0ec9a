// Package discordtest is a server with the parts of Discord's API and gateway (version 10) that chat bots use, for
// tests. discord.py works with it. It keeps sessions that can be resumed, enforces the limits of messages, and can
// refuse requests, break connections and forget sessions.
package discordtest

import (
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	disgo "github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/snowflake/v2"

	"cairn/internal/lab/fakes/channeltest"
)

// Constants of the server.
const (
	Token = "NTAw.Test.secret-of-the-bot" // that the server accepts
	BotID = "500000000000000001"

	serverID  = "900000000000000001" // the guild of all groups
	ownerID   = "500000000000000002"
	firstDM   = 700000000000000000
	firstRoom = 800000000000000000
	// beginTime is how long users wait for the first session: Discord sends events only to bots that are there.
	beginTime = 10 * time.Second
)

// Options configures a server.
type Options struct {
	Address  string        // to listen at; empty means any port of loopback
	Interval time.Duration // of heartbeats; 0 means 41.25 s
}

// Server is a running server. Its methods may run at the same time.
type Server struct {
	*httptest.Server
	interval time.Duration

	mu       sync.Mutex
	begun    chan struct{} // closed at the first session
	lastID   snowflake.ID
	users    map[string]user
	rooms    map[string]*room
	sent     []*message
	nonces   map[string]*message
	faults   []channeltest.Fault
	files    map[string]*file
	presses  map[string]*press
	sessions map[string]*session
	sockets  map[*socket]bool
	latest   func() // publishes the latest event again

	started int   // sessions
	resumed int   // connections
	beats   []int // sequences of heartbeats, 0 for none
	typing  int
	pings   int
	denied  bool // the bot may not read the content of messages
	starts  int  // sessions that may begin today
	edition int  // of the addresses of files
}

var _ channeltest.Platform = (*Server)(nil)

// API returns the URL of the API, the base of all requests.
func (s *Server) API() string { return s.URL + "/api/v10" }

// Gateway returns the URL of the gateway.
func (s *Server) Gateway() string { return "ws" + strings.TrimPrefix(s.URL, "http") }

// Private returns the channel of a user and the bot.
func (s *Server) Private(user string) string {
	n, _ := strconv.ParseUint(user, 10, 64) // users are digits
	return strconv.FormatUint(firstDM+n, 10)
}

// Group returns a channel of the server.
func (s *Server) Group(number int) string { return strconv.Itoa(firstRoom + number) }

// Say makes a user write.
func (s *Server) Say(said channeltest.UserMessage) string { return s.SayWith(said, nil) }

// SayWith makes a user write a message with additional members.
func (s *Server) SayWith(said channeltest.UserMessage, extra map[string]any) string {
	s.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users[said.User] = user{said.User, said.Name, said.Bot}
	if said.Chat == "" {
		said.Chat = s.Private(said.User)
	}
	r := s.room(said.Chat)
	if said.Thread != "" {
		r = s.thread(said.Thread, r)
	}
	m := &message{id: s.newID(), room: r, author: said.User, content: said.Text, at: time.Now(), extra: extra}
	if said.Mention {
		m.content, m.mentions = "<@"+BotID+"> "+said.Text, []string{BotID}
	}
	r.messages = append(r.messages, m)
	s.publishMessage("MESSAGE_CREATE", m)
	return m.id
}

// Attach makes a user send a file in the private chat.
func (s *Server) Attach(who, name, contentType string, data []byte) string {
	s.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &file{id: s.newID(), name: name, contentType: contentType, data: data}
	s.files[f.id] = f
	s.users[who] = user{who, "User " + who, false}
	r := s.room(s.Private(who))
	m := &message{id: s.newID(), room: r, author: who, at: time.Now(), files: []*file{f}}
	r.messages = append(r.messages, m)
	s.publishMessage("MESSAGE_CREATE", m)
	return m.id
}

// Press makes a user press a button of the bot's latest message that has it.
func (s *Server) Press(user, chat, data string) {
	s.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range slices.Backward(s.sent) {
		for _, c := range m.buttons {
			if m.room.id == chat && c.Data == data {
				s.press(user, m, data)
				return
			}
		}
	}
}

// Edit changes a message.
func (s *Server) Edit(chat, messageID, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.room(chat).message(messageID)
	if m == nil {
		return false
	}
	now := time.Now()
	m.content, m.edited = text, &now
	s.publishMessage("MESSAGE_UPDATE", m)
	return true
}

// Delete deletes a message.
func (s *Server) Delete(chat, messageID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(s.room(chat), messageID)
}

// Repeat sends the latest event once more.
func (s *Server) Repeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest != nil {
		s.latest()
	}
}

// Emit sends an event of a group to all sessions.
func (s *Server) Emit(event string, data any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.sessions {
		s.emit(n, event, data)
	}
}

// Drop breaks all connections without a close frame. Sessions stay.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
}

// Forget breaks all connections and ends all sessions.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop()
	clear(s.sessions)
}

// Reconnect asks all connections to come again.
func (s *Server) Reconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.sockets {
		k.write(map[string]any{"op": opReconnect, "d": nil})
	}
}

// Fail makes the next requests to send a message fail.
func (s *Server) Fail(faults ...channeltest.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Sent returns the messages of the bot, except those that it has deleted.
func (s *Server) Sent() (all []channeltest.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.sent {
		out := channeltest.Message{ID: m.id, Chat: m.room.id, Text: m.content, Buttons: m.buttons, At: m.at}
		out.Preview = !m.flags.Has(disgo.MessageFlagSuppressEmbeds)
		if m.room.parent != nil {
			out.Chat, out.Thread = m.room.parent.id, m.room.id
		}
		all = append(all, out)
	}
	return all
}

// Close stops the server.
func (s *Server) Close() {
	s.Drop()
	s.CloseClientConnections()
	s.Server.Close()
}

// newID returns an ID that is greater than all earlier ones.
func (s *Server) newID() string {
	s.lastID = max(s.lastID+1, snowflake.New(time.Now()))
	return s.lastID.String()
}
