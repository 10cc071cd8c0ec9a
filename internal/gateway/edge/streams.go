package edge

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"cairn/internal/domain/fault"
)

// StreamLimits are the limits of the event streams of one protocol. Each stream reads its run from Postgres several
// times a second.
type StreamLimits struct {
	PerHolder int           // open at once
	Total     int           // open at once, of all holders
	Life      time.Duration // after which a stream ends, whatever it shows
	Hint      string        // what to do instead of another stream
}

// Streams opens the event streams of one protocol, and counts them. The streams of one protocol take no room from
// those of another.
type Streams struct {
	edge   *Edge
	limits StreamLimits

	mu      sync.Mutex
	all     int
	holders map[Holder]int
}

// NewStreams returns the streams of a protocol.
func (e *Edge) NewStreams(l StreamLimits) *Streams {
	return &Streams{edge: e, limits: l, holders: map[Holder]int{}}
}

// Room returns an error if h or the protocol has no room for a stream. Requests that start work ask before they
// start it.
func (s *Streams) Room(h Holder) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.full(h)
}

// Open counts a stream of events to w until it is closed. While nothing is new, Wait returns at least after every.
// It writes nothing.
func (s *Streams) Open(w http.ResponseWriter, r *http.Request, h Holder, every time.Duration) (*Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.full(h); err != nil {
		return nil, err
	}
	s.all++
	s.holders[h]++
	return &Stream{to: NewPaced(w), ctx: r.Context(), closing: s.edge.Closing.Done(), look: time.NewTicker(every),
		beat: time.NewTicker(BeatEvery), life: time.NewTimer(s.limits.Life),
		leave: sync.OnceFunc(func() { s.leave(h) })}, nil
}

func (s *Streams) leave(h Holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.holders[h]--; s.holders[h] == 0 {
		delete(s.holders, h)
	}
}

func (s *Streams) full(h Holder) error {
	message := ""
	switch {
	case s.holders[h] >= s.limits.PerHolder:
		message = fmt.Sprintf("too many event streams: %d are open for this key", s.limits.PerHolder)
	case s.all >= s.limits.Total:
		message = fmt.Sprintf("too many event streams: %d are open at this gateway", s.limits.Total)
	default:
		return nil
	}
	err := fault.New(fault.RateLimited, message, s.limits.Hint)
	err.RetryAfter = roomAfter
	return err
}

// roomAfter is the time after which a client should try to open a stream again.
const roomAfter = 5 * time.Second
