package ground

import (
	"context"
	"io"
	"sync"
	"time"
)

// Supervisor restarts a worker whenever it exits, like a service manager.
type Supervisor struct {
	program   string
	arguments []string
	settings  []string
	log       io.Writer
	hit       chan struct{} // requests a kill
	cancel    context.CancelFunc
	gone      sync.WaitGroup
	mu        sync.Mutex
	kills     int
	exits     int // exits without a kill
}

// restartPause limits the restart rate of a worker that cannot start.
const restartPause = 300 * time.Millisecond

// Supervise starts program as Start does, and restarts it until Stop.
func Supervise(program string, settings []string, log io.Writer, arguments ...string) *Supervisor {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Supervisor{program: program, arguments: arguments, settings: settings, log: log, hit: make(chan struct{}),
		cancel: cancel}
	s.gone.Go(func() { s.run(ctx) })
	return s
}

func (s *Supervisor) run(ctx context.Context) {
	for ctx.Err() == nil {
		p, err := StartWorker(s.program, s.settings, s.log, s.arguments...)
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

// KillEvery kills the worker with SIGKILL at intervals, until ctx ends or most kills are done.
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
			case <-ctx.Done(): // the worker is between two starts
				return
			}
		}
	}
}

// Counts returns the numbers of kills and of exits without a kill.
func (s *Supervisor) Counts() (kills, exits int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kills, s.exits
}

// Stop stops the worker and the supervision.
func (s *Supervisor) Stop() {
	s.cancel()
	s.gone.Wait()
}
