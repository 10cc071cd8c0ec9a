package discordtest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"time"
)

// Start starts a server on loopback.
func Start() *Server {
	s, err := Open(Options{})
	if err != nil {
		panic(err) // loopback has no free port
	}
	return s
}

// Open starts a server.
func Open(o Options) (*Server, error) {
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	if o.Interval == 0 {
		o.Interval = 41250 * time.Millisecond
	}
	s := &Server{interval: o.Interval, begun: make(chan struct{}), users: map[string]user{},
		rooms: map[string]*room{}, nonces: map[string]*message{}, files: map[string]*file{},
		presses: map[string]*press{}, sessions: map[string]*session{}, sockets: map[*socket]bool{}, starts: 1000}
	s.users[BotID] = user{BotID, "Cairn", true}
	s.users[ownerID] = user{ownerID, "Owner", false}
	s.room(s.Group(1))
	listener, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, err
	}
	s.Server = &httptest.Server{Listener: listener,
		Config: &http.Server{Handler: s.routes(), ReadHeaderTimeout: time.Minute}}
	s.Server.Start()
	return s, nil
}

// Counts are what clients have done.
type Counts struct {
	Started  int   // sessions
	Resumed  int   // connections
	Beats    []int // sequences of heartbeats, 0 for none
	Typing   int
	Pings    int // messages that notified all members
	Answered int // pressed buttons
}

// Counts returns what clients have done.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := Counts{Started: s.started, Resumed: s.resumed, Beats: append([]int(nil), s.beats...), Typing: s.typing,
		Pings: s.pings}
	for _, p := range s.presses {
		if p.answered {
			c.Answered++
		}
	}
	return c
}

// DenyContent takes the intent for the content of messages from the bot.
func (s *Server) DenyContent() { s.set(func() { s.denied = true }) }

// AllowStarts sets how many sessions may begin.
func (s *Server) AllowStarts(n int) { s.set(func() { s.starts = n }) }

// ForgetNonces lets the time pass in which the server recognizes nonces.
func (s *Server) ForgetNonces() { s.set(func() { clear(s.nonces) }) }

// ExpireFiles makes the addresses of files invalid. Messages show new ones.
func (s *Server) ExpireFiles() { s.set(func() { s.edition++ }) }

// Hide takes the right from the bot to read a channel.
func (s *Server) Hide(chat string) { s.set(func() { s.room(chat).hidden = true }) }

// Wait waits until the first session has begun, but not longer than some seconds.
func (s *Server) Wait() {
	select {
	case <-s.begun:
	case <-time.After(beginTime):
	}
}

func (s *Server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}
