package production

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/lab/bench/ground"
)

// drain is step 7. Each gateway is replaced under load: it gets SIGTERM, and another one starts when it
// has exited.
func (e *experiment) drain(ctx context.Context, to sheet) error {
	f, err := e.startFleet(ctx, e.pooled())
	if err != nil {
		return err
	}
	tenants, err := e.tenants(ctx, 7, 6)
	if err != nil {
		return err
	}
	proxy, err := openBalancer(ctx, f.urls()...)
	if err != nil {
		return err
	}
	defer proxy.close()
	c := newClient(proxy.url)
	l := e.startLoad(ctx, c, tenants)
	defer l.end()
	pause(ctx, e.options.Load)
	var exits []string
	for i, g := range f.gateways {
		began := time.Now()
		g.Terminate()
		select {
		case <-g.Exited():
		case <-time.After(readyPatience):
			return fmt.Errorf("%s runs %s after SIGTERM", g.name, readyPatience)
		}
		if code := g.ExitCode(); code != 0 {
			exits = append(exits, fmt.Sprintf("%s exits with %d: %s", g.name, code, tail(g.log.String())))
		}
		e.say("%s has exited after %s", g.name, ground.Seconds(time.Since(began)))
		replaced, err := e.startGateway(ctx, fmt.Sprintf("gateway-%d", i+3), e.pooled())
		if err != nil {
			return err
		}
		if err := proxy.add(ctx, replaced.url); err != nil {
			return err
		}
		pause(ctx, e.options.Load)
	}
	l.end()
	to.row(proxy.refused == 0, "0 refused connections", "%d in %d requests", proxy.refused, c.responses)
	failures := append(append(append(l.failures, c.wrong...), c.broken...), proxy.failed...)
	if n := c.status(503); n > 0 {
		failures = append(failures, fmt.Sprintf("%d responses with 503", n))
	}
	to.none(failures, "0 failed requests", "%s", c.shown())
	to.none(exits, "each gateway exits with 0", "%d of %d", len(f.gateways)-len(exits), len(f.gateways))
	return e.answers(ctx, to, "p7", l.sent)
}
