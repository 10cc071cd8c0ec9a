package store

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres notifies the process when the transaction that ends a run commits, which is before the
// workflow knows of it, and when there is new text of a reply. A notification may be lost while the
// connection is broken, or behind a pooler that does not support it. A caller therefore also polls.

// The channels carry the IDs of runs. RunEnd notifies the first, ReplyChunksPut the second.
const (
	endedChannel = "cairn_ended"
	replyChannel = "cairn_reply"
)

// topic is what a caller waits for.
type topic struct {
	channel string
	run     string
}

// reconnectDelay is the pause before a broken connection is opened again.
const reconnectDelay = time.Second

// endings holds the waiting callers and the connection that listens for all of them. The connection
// is opened for the first caller.
type endings struct {
	mu      sync.Mutex
	waiting map[topic]map[chan struct{}]bool
	stop    context.CancelFunc
	stopped chan struct{}
}

// Ended returns a channel that receives when a run may have ended. Call stop to end the
// subscription.
func (s *Store) Ended(id string) (ended <-chan struct{}, stop func()) {
	return s.subscribe(topic{endedChannel, id})
}

// ReplyNews returns a channel that receives when there may be new text of a run's reply. Call stop to
// end the subscription.
func (s *Store) ReplyNews(id string) (news <-chan struct{}, stop func()) {
	return s.subscribe(topic{replyChannel, id})
}

func (s *Store) subscribe(t topic) (news <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	e := &s.endings
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.waiting == nil {
		e.waiting = map[topic]map[chan struct{}]bool{}
	}
	if e.stop == nil && s.notifications != nil {
		ctx, cancel := context.WithCancel(context.Background())
		e.stop, e.stopped = cancel, make(chan struct{})
		go func() {
			defer close(e.stopped)
			for ctx.Err() == nil {
				_ = s.listen(ctx) // callers poll, too
				select {
				case <-ctx.Done():
				case <-time.After(reconnectDelay):
				}
			}
		}()
	}
	if e.waiting[t] == nil {
		e.waiting[t] = map[chan struct{}]bool{}
	}
	e.waiting[t][c] = true
	return c, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.waiting[t], c)
		if len(e.waiting[t]) == 0 {
			delete(e.waiting, t)
		}
	}
}

// listen passes on notifications until the connection breaks.
func (s *Store) listen(ctx context.Context) error {
	var conn *pgx.Conn
	err := s.direct.try(func() (err error) {
		c := s.notifications.Copy()
		_ = s.direct.apply(ctx, c) // never fails
		conn, err = pgx.ConnectConfig(ctx, c)
		return err
	})
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "listen "+endedChannel+"; listen "+replyChannel); err != nil {
		return err
	}
	s.endings.notifyAll() // for what was missed before listening
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		s.endings.notify(topic{n.Channel, n.Payload})
	}
}

func (e *endings) notify(t topic) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.waiting[t] {
		wake(c)
	}
}

func (e *endings) notifyAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, all := range e.waiting {
		for c := range all {
			wake(c)
		}
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// close closes the connection, if there is one.
func (e *endings) close() {
	e.mu.Lock()
	stop, stopped := e.stop, e.stopped
	e.mu.Unlock()
	if stop != nil {
		stop()
		<-stopped
	}
}
