package postgres

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Whoever waits for a run is told by the database when the transaction that ends
// it is committed, which is before its workflow has heard of it. It is a word and
// no more: while the connection is away, or behind a pooler that does not pass it
// on, nobody is told, so who waits looks at the run from time to time, too.

// endedChannel carries the numbers of runs that have ended. RunEnd notifies it.
const endedChannel = "cairn_ended"

// hearAgain is the pause before a connection that broke is made again.
const hearAgain = time.Second

// endings are those who wait, and the connection that hears for all of them. It
// is made when somebody waits for the first time.
type endings struct {
	mu      sync.Mutex
	waiting map[int64]map[chan struct{}]bool // by run
	stop    context.CancelFunc
	stopped chan struct{}
}

// Ended returns a channel on which is sent when a run may have ended. Call stop
// when nobody waits any more.
func (s *Store) Ended(id int64) (ended <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	e := &s.endings
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		e.waiting, e.stop, e.stopped = map[int64]map[chan struct{}]bool{}, cancel, make(chan struct{})
		go func() {
			defer close(e.stopped)
			for ctx.Err() == nil {
				_ = s.hear(ctx) // who waits looks, too
				select {
				case <-ctx.Done():
				case <-time.After(hearAgain):
				}
			}
		}()
	}
	if e.waiting[id] == nil {
		e.waiting[id] = map[chan struct{}]bool{}
	}
	e.waiting[id][c] = true
	return c, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.waiting[id], c)
		if len(e.waiting[id]) == 0 {
			delete(e.waiting, id)
		}
	}
}

// hear passes on what the database tells until the connection breaks.
func (s *Store) hear(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, s.app.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "listen "+endedChannel); err != nil {
		return err
	}
	s.endings.tellAll() // of what came while nobody heard
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if id, err := strconv.ParseInt(n.Payload, 10, 64); err == nil {
			s.endings.tell(id)
		}
	}
}

func (e *endings) tell(id int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.waiting[id] {
		wake(c)
	}
}

func (e *endings) tellAll() {
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
	default: // it has been told, and has not looked yet
	}
}

// close ends the connection, if there is one.
func (e *endings) close() {
	e.mu.Lock()
	stop, stopped := e.stop, e.stopped
	e.mu.Unlock()
	if stop != nil {
		stop()
		<-stopped
	}
}
