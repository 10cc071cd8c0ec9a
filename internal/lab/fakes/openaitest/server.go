package openaitest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// DefaultDims is the length of embeddings unless Dims sets another.
const DefaultDims = 64

// Server is a scripted endpoint on its own port. Its methods are safe for concurrent use.
type Server struct {
	URL  string // the base URL for clients, ends in /v1
	Root string // the base URL of the control endpoints

	http *httptest.Server
	done chan struct{} // closed by Close; releases all waiting requests

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced on every change
	rules    []*scripted
	calls    []Call
	paid     map[string]int
	waiting  map[string]int           // requests at a barrier
	barriers map[string]chan struct{} // closed when released
	dims     int
	wrong    bool
	synonyms [][]string
	closing  sync.Once
}

// New starts a server for one test. It stops at the end of the test, and fails the test if a
// request matched no rule.
func New(t testing.TB) *Server {
	t.Helper()
	server, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Close()
		for _, call := range server.Requests() {
			if call.Unknown {
				t.Errorf("llmtest: no rule for request %d: stage %q run %q task %q file %q, last message %.200q",
					call.Index, call.Stage, call.Run, call.Task, call.File, call.Last)
			}
		}
	})
	return server
}

// Start starts a server on a free port of the loopback interface.
func Start() (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the scripted server: %w", err)
	}
	s := &Server{
		done:     make(chan struct{}),
		changed:  make(chan struct{}),
		paid:     map[string]int{},
		waiting:  map[string]int{},
		barriers: map[string]chan struct{}{},
		dims:     DefaultDims,
	}
	s.http = &httptest.Server{Listener: listener, Config: &http.Server{Handler: s.routes()}}
	s.http.Start()
	s.Root = s.http.URL
	s.URL = s.Root + "/v1"
	return s, nil
}

// Close releases the waiting requests and stops the server.
func (s *Server) Close() {
	s.closing.Do(func() {
		close(s.done)
		s.http.CloseClientConnections()
		s.http.Close()
	})
}

// On adds a rule. It panics when Match is not a regular expression.
func (s *Server) On(rule Rule) {
	compiled, err := compile(rule)
	if err != nil {
		panic("llmtest: " + err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, compiled)
}

// Script replaces all rules and their counters. The recorded requests remain.
func (s *Server) Script(script Script) error {
	rules := make([]*scripted, len(script.Rules))
	for i, rule := range script.Rules {
		compiled, err := compile(rule)
		if err != nil {
			return fmt.Errorf("rule %d: %w", i, err)
		}
		rules[i] = compiled
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = rules
	if script.Dims > 0 {
		s.dims = script.Dims
	}
	s.wrong = script.WrongDimension
	return nil
}

// Dims sets the length of embeddings for requests that do not specify one.
func (s *Server) Dims(dims int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dims = dims
}

// WrongDimension adds one number to every embedding.
func (s *Server) WrongDimension(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = on
}

// Forget removes all rules and recorded requests, for the next part of a test. A request that
// matched no rule remains and fails the test.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules, s.paid = nil, map[string]int{}
	s.calls = slices.DeleteFunc(slices.Clone(s.calls), func(c Call) bool { return !c.Unknown })
}

// Requests returns the requests so far, in order of arrival.
func (s *Server) Requests() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Count returns the number of requests of a stage, or of all stages for "".
func (s *Server) Count(stage string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count(stage)
}

func (s *Server) count(stage string) int {
	n := 0
	for i := range s.calls {
		if stage == "" || s.calls[i].Stage == stage {
			n++
		}
	}
	return n
}

// Paid returns for each Call.Key the number of complete chat replies. A value above 1 is a reply
// that was paid for twice.
func (s *Server) Paid() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.paid)
}

// Mark is a state of the records of a server.
type Mark struct {
	calls int
	paid  map[string]int
}

// Mark returns the current state, for Rewind.
func (s *Server) Mark() Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Mark{len(s.calls), maps.Clone(s.paid)}
}

// Rewind forgets the requests and replies since a mark: the database of their callers has forgotten
// them, too.
func (s *Server) Rewind(m Mark) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.paid = slices.Clone(s.calls[:m.calls]), maps.Clone(m.paid)
}

// ForgetCalls forgets the requests that match, and their replies: the data of their callers is erased.
// A Mark from before is not valid any more.
func (s *Server) ForgetCalls(match func(Call) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = slices.DeleteFunc(slices.Clone(s.calls), func(c Call) bool {
		if match(c) {
			delete(s.paid, c.Key())
			return true
		}
		return false
	})
}

// Release opens a barrier for waiting and later requests.
func (s *Server) Release(barrier string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := s.gate(barrier)
	select {
	case <-gate:
	default:
		close(gate)
	}
}

func (s *Server) gate(barrier string) chan struct{} {
	gate, ok := s.barriers[barrier]
	if !ok {
		gate = make(chan struct{})
		s.barriers[barrier] = gate
	}
	return gate
}

// Await returns when n requests of a stage have arrived. "" means all stages.
func (s *Server) Await(ctx context.Context, stage string, n int) error {
	return s.until(ctx, fmt.Sprintf("%d requests of stage %q", n, stage), func() bool { return s.count(stage) >= n })
}

// AwaitBarrier returns when n requests are waiting at a barrier.
func (s *Server) AwaitBarrier(ctx context.Context, barrier string, n int) error {
	return s.until(ctx, fmt.Sprintf("%d requests at barrier %q", n, barrier), func() bool {
		return s.waiting[barrier] >= n
	})
}

// patience is the longest time for which a test waits for requests.
const patience = 3 * time.Minute

// until waits for a condition, which is evaluated under the lock.
func (s *Server) until(ctx context.Context, what string, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		s.mu.Lock()
		held, changed := holds(), s.changed
		s.mu.Unlock()
		if held {
			return nil
		}
		select {
		case <-changed:
		case <-s.done:
			return fmt.Errorf("llmtest: closed while waiting for %s", what)
		case <-ctx.Done():
			return fmt.Errorf("llmtest: waiting for %s: %w", what, ctx.Err())
		}
	}
}

// notify wakes all callers of until. The caller must hold the lock.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// ServeHTTP serves the same endpoints without the port, for callers with their own listener.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.http.Config.Handler.ServeHTTP(w, r)
}
