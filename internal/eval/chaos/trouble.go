package chaos

import (
	"context"
	"io"
	"sync"
	"time"

	"cairn/internal/eval/workerproc"
)

// supervisor keeps a worker running, as a service manager would.
type supervisor struct {
	program  string
	settings []string
	log      io.Writer
	hit      chan struct{} // asks for a kill
	cancel   context.CancelFunc
	gone     sync.WaitGroup
	mu       sync.Mutex
	kills    int
	exits    int // that nobody asked for
}

// restartPause keeps a worker that cannot start from spinning.
const restartPause = 300 * time.Millisecond

func supervise(program string, settings []string, log io.Writer) *supervisor {
	ctx, cancel := context.WithCancel(context.Background())
	s := &supervisor{program: program, settings: settings, log: log, hit: make(chan struct{}), cancel: cancel}
	s.gone.Go(func() { s.run(ctx) })
	return s
}

func (s *supervisor) run(ctx context.Context) {
	for ctx.Err() == nil {
		p, err := workerproc.Start(s.program, s.settings, s.log)
		if err != nil {
			io.WriteString(s.log, err.Error()+"\n")
			s.pause(ctx)
			continue
		}
		select {
		case <-ctx.Done():
			p.Stop()
		case <-s.hit:
			p.Kill()
			s.add(&s.kills)
		case <-p.Exited():
			s.add(&s.exits)
			s.pause(ctx)
		}
	}
}

func (s *supervisor) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(restartPause):
	}
}

func (s *supervisor) add(n *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}

func (s *supervisor) counts() (kills, exits int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kills, s.exits
}

// stop ends the worker and the supervision.
func (s *supervisor) stop() {
	s.cancel()
	s.gone.Wait()
}

// kill kills the worker again and again until ctx ends, or it was often enough.
func (e *experiment) kill(ctx context.Context) {
	tick := time.NewTicker(e.options.KillEvery)
	defer tick.Stop()
	for range e.options.Kills {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			select {
			case e.worker.hit <- struct{}{}:
			case <-ctx.Done(): // it is between two lives
				return
			}
		}
	}
}

// Crash is a server's end and its new start, at a share of the ended runs.
type Crash struct {
	Server string        `json:"server"`
	At     float64       `json:"at"` // share of the runs that had ended, 0–1
	Took   time.Duration `json:"took_ns"`
	Error  string        `json:"error,omitempty"`
	do     func(ctx context.Context) error
}

// drawCrashes chooses when the servers go down: one in the first half of the
// work, the other in the second.
func (e *experiment) drawCrashes() []Crash {
	early, late := 0.15+0.3*e.draw.Float64(), 0.55+0.3*e.draw.Float64()
	postgres := Crash{Server: "Postgres, crashed", At: early, do: func(ctx context.Context) error { return e.stack.RestartPostgres(ctx, true) }}
	temporal := Crash{Server: "Temporal, killed", At: late, do: func(ctx context.Context) error { return e.stack.RestartTemporal(ctx, true) }}
	if e.draw.IntN(2) == 0 {
		postgres.At, temporal.At = late, early
		return []Crash{temporal, postgres}
	}
	return []Crash{postgres, temporal}
}

// crash carries out the crashes in their order.
func (e *experiment) crash(ctx context.Context, plan []Crash) {
	for _, c := range plan {
		for {
			if n, err := e.ended(ctx); err == nil && n >= int(c.At*float64(e.options.Distillations)) {
				break
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(look):
			}
		}
		began := time.Now()
		// A server that was ended is started again even when calm has come meanwhile.
		if err := c.do(context.WithoutCancel(ctx)); err != nil {
			c.Error = err.Error()
		}
		c.Took = time.Since(began)
		e.result.Crashes = append(e.result.Crashes, c)
		e.say("%s at %.0f %% of the runs, back after %.1f s %s", c.Server, 100*c.At, c.Took.Seconds(), c.Error)
	}
}
