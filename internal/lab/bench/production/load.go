package production

import (
	"context"
	"fmt"
	"net/http"
	"sync"
)

// load is a set of clients. Each sends its next message when it has the reply to the one before.
type load struct {
	e       *experiment
	c       *client
	stop    context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	sent     []string // all messages that were sent
	accepted bool     // a gateway has promised a reply
	failures []string // messages without a reply
}

// startLoad starts two clients for each tenant, one of which reads.
func (e *experiment) startLoad(ctx context.Context, c *client, tenants []tenant) *load {
	ctx, cancel := context.WithCancel(ctx)
	l := &load{e: e, c: c, stop: cancel}
	for _, t := range tenants {
		l.running.Go(func() { l.talk(ctx, t) })
		l.running.Go(func() { l.read(ctx, t) })
	}
	return l
}

// talk sends messages until ctx ends. Its last message is still answered.
func (l *load) talk(ctx context.Context, t tenant) {
	for n := 0; ctx.Err() == nil; n++ {
		mark := t.mark(n)
		l.mu.Lock()
		l.sent = append(l.sent, mark)
		l.mu.Unlock()
		body := message("c", mark, 20)
		err := until(context.WithoutCancel(ctx), l.e.options.Patience, mark+" is answered", func() (bool, error) {
			ended, accepted, err := l.c.send(context.WithoutCancel(ctx), t, body)
			if accepted {
				l.mu.Lock()
				l.accepted = true
				l.mu.Unlock()
			}
			return ended, err
		})
		if err != nil {
			l.mu.Lock()
			l.failures = append(l.failures, err.Error())
			l.mu.Unlock()
			return
		}
	}
}

func (l *load) read(ctx context.Context, t tenant) {
	for ctx.Err() == nil {
		if a, err := l.c.do(ctx, t, http.MethodGet, "/v1/conversations?limit=5", nil); err == nil &&
			a.status >= http.StatusBadRequest && a.status < http.StatusInternalServerError {
			l.mu.Lock()
			l.failures = append(l.failures, fmt.Sprintf("read: %d %.200s", a.status, a.body))
			l.mu.Unlock()
		}
		pause(ctx, retryPause)
	}
}

// end stops the clients, and waits until their last messages are answered.
func (l *load) end() {
	l.stop()
	l.running.Wait()
}
