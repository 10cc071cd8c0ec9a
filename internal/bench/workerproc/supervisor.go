package workerproc

import (
	"context"
	"io"
	"sync"
	"time"
)

// Supervisor keeps a worker running, as a service manager would.
type Supervisor struct {
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

// Supervise starts program as Start does, again and again, until Stop.
func Supervise(program string, settings []string, log io.Writer) *Supervisor {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Supervisor{program: program, settings: settings, log: log, hit: make(chan struct{}), cancel: cancel}
	s.gone.Go(func() { s.run(ctx) })
	return s
}

func (s *Supervisor) run(ctx context.Context) {
	for ctx.Err() == nil {
		p, err := Start(s.program, s.settings, s.log)
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

func (s *Supervisor) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(restartPause):
	}
}

func (s *Supervisor) add(n *int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*n++
}

// KillEvery kills the worker by SIGKILL again and again until ctx ends, or it
// was often enough.
func (s *Supervisor) KillEvery(ctx context.Context, every time.Duration, most int) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for range most {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			select {
			case s.hit <- struct{}{}:
			case <-ctx.Done(): // it is between two lives
				return
			}
		}
	}
}

// Counts are how often the worker was killed, and how often it ended by itself.
func (s *Supervisor) Counts() (kills, exits int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kills, s.exits
}

// Stop ends the worker and the supervision.
func (s *Supervisor) Stop() {
	s.cancel()
	s.gone.Wait()
}
