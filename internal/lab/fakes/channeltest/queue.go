package channeltest

import (
	"slices"
	"sync"
	"time"
)

// Queue holds the events of a fake until a client acknowledges them. It delivers them in their order, once more after
// a time without an acknowledgement, and again on a new connection.
type Queue struct {
	retry time.Duration
	ended chan struct{}

	mu     sync.Mutex
	events []*queued
	lines  []Line // the last one gets the events
}

// Line is a connection on which a client gets events. It sends one at a time.
type Line interface {
	Send(id string, body []byte) error
	Close() error
}

type queued struct {
	id   string
	body []byte
	once bool
	sent time.Time // on the present connection; zero means not yet
}

// NewQueue returns a Queue. Retry is the time after which an event is delivered again.
func NewQueue(retry time.Duration) *Queue {
	q := &Queue{retry: retry, ended: make(chan struct{})}
	go func() {
		tick := time.NewTicker(retry / 2)
		defer tick.Stop()
		for {
			select {
			case <-q.ended:
				return
			case <-tick.C:
				q.with(func() {})
			}
		}
	}()
	return q
}

// with changes the queue and sends what is due.
func (q *Queue) with(change func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	change()
	if len(q.lines) == 0 {
		return
	}
	line := q.lines[len(q.lines)-1]
	for _, e := range q.events {
		if !e.sent.IsZero() && time.Since(e.sent) < q.retry {
			continue
		}
		if line.Send(e.id, e.body) != nil {
			_ = line.Close() // its reader detaches it
			return
		}
		e.sent = time.Now()
	}
	q.events = slices.DeleteFunc(q.events, func(e *queued) bool { return e.once && !e.sent.IsZero() })
}

// Put adds an event. Its ID is that of its acknowledgement.
func (q *Queue) Put(id string, body []byte) {
	q.with(func() { q.events = append(q.events, &queued{id: id, body: body}) })
}

// PutOnce adds an event that is not delivered again.
func (q *Queue) PutOnce(id string, body []byte) {
	q.with(func() { q.events = append(q.events, &queued{id: id, body: body, once: true}) })
}

// Done removes an event that a client has acknowledged.
func (q *Queue) Done(id string) {
	q.with(func() { q.events = slices.DeleteFunc(q.events, func(e *queued) bool { return e.id == id }) })
}

// Open returns the number of events that are not acknowledged.
func (q *Queue) Open() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.events)
}

// Attach adds a connection, which gets all events that are not acknowledged.
func (q *Queue) Attach(l Line) {
	q.with(func() {
		q.lines = append(q.lines, l)
		q.restart()
	})
}

// Detach removes a connection that has ended.
func (q *Queue) Detach(l Line) {
	q.with(func() {
		q.lines = slices.DeleteFunc(q.lines, func(o Line) bool { return o == l })
		q.restart()
	})
}

func (q *Queue) restart() {
	for _, e := range q.events {
		e.sent = time.Time{}
	}
}

// Drop closes all connections.
func (q *Queue) Drop() {
	q.with(func() {
		for _, l := range q.lines {
			_ = l.Close()
		}
		q.lines = nil
		q.restart()
	})
}

// Close closes all connections and ends the queue.
func (q *Queue) Close() {
	q.Drop()
	close(q.ended)
}
