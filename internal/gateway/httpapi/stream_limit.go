package httpapi

import (
	"context"
	"fmt"
	"sync"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
)

// Maximum numbers of event streams at once. Each stream reads its run from Postgres several times a second.
const (
	streamsPerKey     = 20
	chatsPerKey       = 200 // streams of OpenAI clients: a chat application has one key for many users
	streamsPerGateway = 2_000
)

// streams counts the open event streams of this gateway.
type streams struct {
	most int // of the gateway

	mu   sync.Mutex
	all  int
	keys map[keyNumber]int
}

func newStreams() *streams { return &streams{most: streamsPerGateway, keys: map[keyNumber]int{}} }

// room returns an error if h's key or the gateway has no room for a stream. Requests that start work
// ask before they start it.
func (s *streams) room(h access.Principal) *Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full(h, streamsPerKey)
}

// open counts a stream until the returned function is called. Most is the limit of the key.
func (s *streams) open(h access.Principal, most int) (ended func(), refused *Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refused := s.full(h, most); refused != nil {
		return nil, refused
	}
	k := keyNumber{h.Workspace.ID, h.Key}
	s.all++
	s.keys[k]++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.keys[k]--; s.keys[k] == 0 {
			delete(s.keys, k)
		}
	}), nil
}

func (s *streams) full(h access.Principal, most int) *Problem {
	message := ""
	switch {
	case s.keys[keyNumber{h.Workspace.ID, h.Key}] >= most:
		message = fmt.Sprintf("too many event streams: %d are open for this key", most)
	case s.all >= s.most:
		message = fmt.Sprintf("too many event streams: %d are open at this gateway", s.most)
	default:
		return nil
	}
	return problem(fault.RateLimited, message,
		"close a stream, or poll GET /v1/runs/{id} instead of a stream").with("Retry-After", "5")
}

// streamRoom returns an error if the caller may not open another stream.
func (g *Gateway) streamRoom(ctx context.Context) error {
	if refused := g.streams.room(asking(ctx)); refused != nil {
		return refused
	}
	return nil
}
