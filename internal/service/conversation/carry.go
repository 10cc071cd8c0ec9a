package conversation

import (
	"context"
	"slices"
	"sync"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/run"
	"cairn/internal/service/tools"
)

// The next step of a turn mostly comes to the worker that made the last one, a few
// milliseconds later. So the worker keeps what it knows of the turn for a moment,
// and begins to look up what the model has asked for. Nothing depends on it: a
// step that comes to another worker, or later, reads what is stored, and what may
// have changed meanwhile is seen when the step's request is stored.

// carriedFor is how long a turn is kept for its next step.
const carriedFor = 2 * time.Second

// carried is turns between two steps, by the step that comes next. The zero value
// holds none.
type carried struct {
	mu   sync.Mutex
	jobs map[stepRef]waiting
}

// waiting is a job until its step comes, or its time is over.
type waiting struct {
	job   *runState
	timer *time.Timer
}

type stepRef struct {
	run.Ref
	step int
}

// keep has a job wait for a step.
func (c *carried) keep(j *runState, step int) {
	at := stepRef{j.run.Ref, step}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.jobs == nil {
		c.jobs = map[stepRef]waiting{}
	}
	c.jobs[at] = waiting{j, time.AfterFunc(carriedFor, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.jobs[at].job == j {
			delete(c.jobs, at)
		}
	})}
}

// take returns the job that waits for a step, once, or nil. By then its early call
// has ended.
func (c *carried) take(ctx context.Context, ref run.Ref, step int) *runState {
	at := stepRef{ref, step}
	c.mu.Lock()
	w := c.jobs[at]
	delete(c.jobs, at)
	c.mu.Unlock()
	j := w.job
	if j == nil {
		return nil
	}
	w.timer.Stop() // which holds it, too
	if j.early == nil {
		return j
	}
	select {
	case <-j.early.done:
		return j
	case <-ctx.Done():
		return nil
	}
}

// early is a call that is run before the step that it belongs to.
type early struct {
	call   *Call
	done   chan struct{}
	result tools.Result
	unrun  agent.SkipReason
	err    error
}

// carry keeps a turn for the step after response n, when nothing else happens to
// it in between, and begins the first of its calls when that may be. Nobody else
// touches the job any more.
func (s *Service) carry(ctx context.Context, j *runState, n int) {
	at := slices.IndexFunc(j.steps, func(s Step) bool { return s.N == n })
	if j.run.Kind != run.Turn || at < 0 || slices.ContainsFunc(j.steps[at].Calls, func(c Call) bool { return c.Class != agent.Fast || c.Done }) {
		return
	}
	j.kept, j.early = true, nil
	first := &j.steps[at].Calls[j.sequence(j.steps[at].Calls)[0]]
	if offered := j.tools.Offered(j.spec.Origin, first.Tool); len(offered) > 0 && offered[0].Ahead && j.judge(*first) == "" {
		e := &early{call: first, done: make(chan struct{})}
		j.early = e
		c := *first
		go func() {
			defer close(e.done)
			e.result, e.unrun, e.err = s.use(context.WithoutCancel(ctx), j, c)
		}()
	}
	s.carried.keep(j, n+1)
}

// ranEarly is what a call's early run has brought, if there was one.
func (j *runState) ranEarly(c *Call) (result tools.Result, unrun agent.SkipReason, found bool) {
	if e := j.early; e != nil && e.call == c && e.err == nil {
		return e.result, e.unrun, true
	}
	return result, "", false
}
