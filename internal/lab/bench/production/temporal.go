package production

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"cairn/internal/lab/bench/ground"
)

// withoutTemporal is step 3.
func (e *experiment) withoutTemporal(ctx context.Context, to sheet) error {
	f, err := e.startFleet(ctx, e.pooled())
	if err != nil {
		return err
	}
	tenants, err := e.tenants(ctx, 3, 4)
	if err != nil {
		return err
	}
	c := newClient(f.urls()...)
	var sent []string
	for _, t := range tenants { // each conversation exists before
		if err := c.insist(ctx, t, message("c", t.mark(0), 60), e.options.Patience); err != nil {
			return err
		}
		sent = append(sent, t.mark(0))
	}
	began := time.Now()
	if err := e.temporal.StopTemporal(ctx); err != nil {
		return err
	}
	third, err := e.startGateway(ctx, "gateway-3", e.pooled())
	ready, degraded := err == nil, []string(nil)
	if ready {
		degraded, ready = readiness(ctx, third.url)
		c.urls = append(c.urls, third.url)
	} else {
		to.found(err.Error())
	}
	to.row(ready && slices.Contains(degraded, "temporal"), "a gateway starts, and reports Temporal as degraded",
		"ready: %t, degraded: %v", ready, degraded)
	away := e.underOutage(ctx, c, tenants, began.Add(e.options.Away))
	if err := e.temporal.RestartTemporal(ctx, true); err != nil {
		return err
	}
	back := time.Now()
	to.row(len(away.accepted) > 0 && len(away.accepted) == away.sent, "messages are accepted",
		"%d of %d in %s, the slowest in %s", len(away.accepted), away.sent, ground.Seconds(back.Sub(began)),
		ground.Seconds(away.slowest))
	to.row(away.reads > 0 && away.readsFailed == 0, "reads and memory writes work", "%d of %d",
		away.reads-away.readsFailed, away.reads)
	to.found(away.failures...)
	for mark, t := range away.accepted {
		if err := until(ctx, e.options.Patience, mark+" is answered", func() (bool, error) {
			return c.ended(ctx, t, "c", mark)
		}); err != nil {
			to.found(err.Error())
		}
		sent = append(sent, mark)
	}
	took := time.Since(back)
	if err := e.answers(ctx, to, "p3", sent); err != nil {
		return err
	}
	to.none(append(c.wrong, c.broken...), "0 errors of a gateway", "%s; all is answered %s after Temporal is back",
		c.shown(), ground.Seconds(took))
	return nil
}

// outage is what clients see without Temporal.
type outage struct {
	mu                 sync.Mutex
	accepted           map[string]tenant // by mark
	sent               int
	slowest            time.Duration
	reads, readsFailed int
	failures           []string
}

// underOutage sends messages and reads, until over.
func (e *experiment) underOutage(ctx context.Context, c *client, tenants []tenant, over time.Time) *outage {
	out := &outage{accepted: map[string]tenant{}}
	var running sync.WaitGroup
	for _, t := range tenants {
		running.Go(func() {
			for n := 1; (n == 1 || time.Now().Before(over)) && ctx.Err() == nil; n++ {
				out.message(ctx, c, t, n)
				out.read(ctx, c, t, n)
				pause(ctx, time.Second)
			}
		})
	}
	running.Wait()
	return out
}

func (o *outage) message(ctx context.Context, c *client, t tenant, n int) {
	mark, began := t.mark(n), time.Now()
	_, accepted, err := c.send(ctx, t, message("c", mark, n%2)) // every second one waits for a second
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent++
	o.slowest = max(o.slowest, time.Since(began))
	if accepted {
		o.accepted[mark] = t
	} else {
		o.failures = append(o.failures, fmt.Sprintf("%s: %v", mark, err))
	}
}

// read reads the conversation, searches, and saves a memory.
func (o *outage) read(ctx context.Context, c *client, t tenant, n int) {
	memory := object{"memory_type": "personal", "memory_target": "Ann", "content": "Ann likes " + t.mark(n) + "."}
	for _, r := range []struct {
		method, path string
		body         any
		status       int
	}{
		{http.MethodGet, "/v1/conversations/c/messages", nil, http.StatusOK},
		{http.MethodGet, "/v1/search?q=blue", nil, http.StatusOK},
		{http.MethodPost, "/v1/memories", memory, http.StatusCreated},
	} {
		err := c.expect(ctx, t, r.method, r.path, r.body, r.status, nil)
		o.mu.Lock()
		o.reads++
		if err != nil {
			o.readsFailed++
			o.failures = append(o.failures, err.Error())
		}
		o.mu.Unlock()
	}
}
