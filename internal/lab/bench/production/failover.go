package production

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"cairn/internal/adapter/devstack"
	"cairn/internal/lab/bench/ground"
)

// recoveryGoal is the maximum time from the crash of the primary to the first reply of each gateway.
const recoveryGoal = 30 * time.Second

// failover is step 4. One gateway and one worker use PgBouncer, which is pointed at the new primary; the
// others list both servers in their address.
func (e *experiment) failover(ctx context.Context, to sheet) error {
	old := e.primary
	replica, err := e.startReplica(ctx)
	if err != nil {
		return err
	}
	both := "postgres://" + login + "@" + old.Address() + "," + replica.Address() + "/" + database +
		"?sslmode=disable&target_session_attrs=read-write&connect_timeout=3"
	f, err := e.startFleet(ctx, append(e.pooled(), "CAIRN_DATABASE_DIRECT_URL="+both), []string{"DATABASE_URL=" + both})
	if err != nil {
		return err
	}
	tenants, err := e.tenants(ctx, 4, 6)
	if err != nil {
		return err
	}
	c := newClient(f.urls()...)
	l := e.startLoad(ctx, c, tenants[:4])
	defer l.end()
	pause(ctx, e.options.Load)

	e.say("Postgres is read-only")
	if err := readOnly(ctx, old); err != nil {
		return err
	}
	refused, others := e.writes(ctx, f, tenants[4])
	e.say("Postgres crashes")
	if err := old.Stop(ctx, true); err != nil {
		return err
	}
	crashed := time.Now()
	recovered := e.probe(ctx, f, tenants[4:])
	pause(ctx, e.options.Detect)
	if err := e.promote(ctx, replica); err != nil {
		return err
	}
	promoted := time.Since(crashed)
	times, probed := recovered(crashed)
	pause(ctx, e.options.Load)
	l.end()
	to.row(refused > 0 && others == 0, "writes get 503 with Retry-After while Postgres is read-only",
		"%d of %d", refused, refused+others)
	to.row(len(c.wrong) == 0, "no 500, and no 503 without Retry-After", "%s", c.shown())
	to.row(len(c.broken) == 0, "0 broken connections", "%d", len(c.broken))
	to.found(append(append(c.wrong, c.broken...), l.failures...)...)
	to.row(len(times) == gateways && maximum(times) < recoveryGoal,
		fmt.Sprintf("each gateway answers again within %s of the crash", recoveryGoal),
		"%s; promotion after %s", shownTimes(times), ground.Seconds(promoted))
	sent := append(l.sent, probed...)
	to.row(len(l.failures) == 0 && l.accepted, "no accepted message is lost",
		"%d of %d messages answered, with synchronous replication", len(l.sent)-len(l.failures), len(l.sent))
	return e.answers(ctx, to, "p4", sent)
}

// promote makes a replica the primary, and points PgBouncer at it.
func (e *experiment) promote(ctx context.Context, replica *devstack.PostgresServer) error {
	if err := replica.Promote(ctx); err != nil {
		return err
	}
	e.primary = replica
	return errors.Join(e.pooler.Point(replica.Address()), replica.Execute(ctx, "postgres",
		"alter system reset synchronous_standby_names", "select pg_reload_conf()"))
}

// startReplica starts a replica of the primary, which confirms each commit.
func (e *experiment) startReplica(ctx context.Context) (*devstack.PostgresServer, error) {
	replica, err := e.startServer(ctx, "db-b", e.primary)
	if err != nil {
		return nil, err
	}
	if err := e.primary.Execute(ctx, "postgres", "alter system set synchronous_standby_names = '*'",
		"select pg_reload_conf()"); err != nil {
		return nil, err
	}
	a, err := e.audit(ctx)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	return replica, until(ctx, readyPatience, "the replica confirms commits", func() (bool, error) {
		n, err := a.Number(ctx, "replicas")
		return n == 1, err
	})
}

// readOnly makes a server refuse writes of new transactions, as one does that is demoted.
func readOnly(ctx context.Context, s *devstack.PostgresServer) error {
	return s.Execute(ctx, "postgres", "alter system set default_transaction_read_only = on", "select pg_reload_conf()")
}

// writes saves memories through each gateway while Postgres is read-only. A write counts as refused only
// with 503 and Retry-After. The first second does not count: its transactions may have begun before.
func (e *experiment) writes(ctx context.Context, f fleet, t tenant) (refused, others int) {
	pause(ctx, time.Second)
	c := newClient(f.urls()...)
	for n, over := 0, time.Now().Add(e.options.ReadOnly-time.Second); time.Now().Before(over) && ctx.Err() == nil; n++ {
		a, err := c.do(ctx, t, http.MethodPost, "/v1/memories", object{"memory_type": "personal",
			"memory_target": "Ann", "content": fmt.Sprintf("Ann likes %s.", t.mark(n))})
		if err == nil && a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "" {
			refused++
		} else {
			others++
		}
		pause(ctx, retryPause)
	}
	return refused, others
}

// probe sends a message to each gateway until it is answered. The returned function waits for the
// replies, and returns the time of each since a moment.
func (e *experiment) probe(ctx context.Context, f fleet, tenants []tenant) func(since time.Time) ([]time.Duration,
	[]string) {
	var mu sync.Mutex
	var at []time.Time
	var sent []string
	var running sync.WaitGroup
	for i, g := range f.gateways {
		t := tenants[i]
		mark := t.mark(0)
		sent = append(sent, mark)
		running.Go(func() {
			if err := newClient(g.url).insist(ctx, t, message("c", mark, 20), e.options.Patience); err == nil {
				mu.Lock()
				at = append(at, time.Now())
				mu.Unlock()
			}
		})
	}
	return func(since time.Time) (out []time.Duration, _ []string) {
		running.Wait()
		for _, t := range at {
			out = append(out, t.Sub(since))
		}
		return out, sent
	}
}

func maximum(times []time.Duration) (most time.Duration) {
	for _, t := range times {
		most = max(most, t)
	}
	return most
}

func shownTimes(times []time.Duration) string {
	var out []string
	for _, t := range times {
		out = append(out, ground.Seconds(t))
	}
	return strings.Join(out, ", ")
}
