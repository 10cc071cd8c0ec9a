package production

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"cairn/internal/lab/bench/ground"
)

const (
	readyPatience = 30 * time.Second
	poll          = 100 * time.Millisecond
)

// process is a gateway or a worker.
type process struct {
	*ground.Worker
	name string
	url  string // of a gateway
	log  *output
}

// fleet is a set of gateways and workers.
type fleet struct {
	gateways []*process
	workers  []*process
}

// urls returns the addresses of the gateways.
func (f fleet) urls() (out []string) {
	for _, g := range f.gateways {
		out = append(out, g.url)
	}
	return out
}

// output collects the output of a process.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

// String returns the output so far.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// launch starts a program with settings.
func (e *experiment) launch(name, program string, settings []string, arguments ...string) (*process, error) {
	p := &process{name: name, log: new(output)}
	var err error
	if p.Worker, err = ground.StartWorker(program, slices.Concat(e.base(), settings), p.log, arguments...); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.processes = append(e.processes, p)
	return p, nil
}

// startWorker starts a worker.
func (e *experiment) startWorker(name string, settings []string) (*process, error) {
	return e.launch(name, e.worker, settings)
}

// serve are the arguments of a gateway on a free port.
var serve = []string{"serve", "--listen", "127.0.0.1:0"}

// startGateway starts a gateway, and waits until it is ready.
func (e *experiment) startGateway(ctx context.Context, name string, settings []string) (*process, error) {
	p, err := e.launch(name, e.cairn, settings, serve...)
	if err != nil {
		return nil, err
	}
	return p, p.awaitReady(ctx)
}

// addressIn matches the address that a gateway prints.
var addressIn = regexp.MustCompile(`(?m)^ready: (http://\S+)`)

// awaitReady waits until a gateway is ready.
func (p *process) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	for {
		if m := addressIn.FindStringSubmatch(p.log.String()); m != nil {
			p.url = m[1]
			if _, ready := readiness(ctx, p.url); ready {
				return nil
			}
		}
		select {
		case <-p.Exited():
			return fmt.Errorf("%s ended while it started: %s", p.name, tail(p.log.String()))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %s", p.name, tail(p.log.String()))
		case <-time.After(poll):
		}
	}
}

// readiness returns the degraded checks of a gateway, and whether it is ready.
func readiness(ctx context.Context, url string) (degraded []string, ready bool) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		return nil, false
	}
	r.Close = true // the check must not count as a connection in use
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, false
	}
	defer res.Body.Close()
	var body struct{ Degraded []string }
	_ = json.NewDecoder(res.Body).Decode(&body) // absent from other responses
	return body.Degraded, res.StatusCode == http.StatusOK
}

// startFleet starts two gateways and two workers. Settings has those of each pair; the last repeats.
func (e *experiment) startFleet(ctx context.Context, settings ...[]string) (f fleet, err error) {
	of := func(i int) []string { return settings[min(i, len(settings)-1)] }
	if f.workers, err = e.startWorkers(settings...); err != nil {
		return f, err
	}
	for i := range gateways {
		g, err := e.startGateway(ctx, fmt.Sprintf("gateway-%d", i+1), of(i))
		if err != nil {
			return f, err
		}
		f.gateways = append(f.gateways, g)
	}
	return f, nil
}

func (e *experiment) startWorkers(settings ...[]string) (out []*process, err error) {
	for i := range workers {
		w, err := e.startWorker(fmt.Sprintf("worker-%d", i+1), settings[min(i, len(settings)-1)])
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// stopAll stops processes at once.
func stopAll(all []*process) {
	var stopping sync.WaitGroup
	for _, p := range all {
		stopping.Go(p.Stop)
	}
	stopping.Wait()
}

// stopProcesses stops all processes.
func (e *experiment) stopProcesses() {
	e.mu.Lock()
	all := slices.Clone(e.processes)
	e.mu.Unlock()
	stopAll(all)
}

// command runs a command of cairn with settings and returns its output.
func (e *experiment) command(ctx context.Context, settings []string, arguments ...string) (string, error) {
	c := exec.CommandContext(ctx, e.cairn, arguments...)
	c.Env = ground.Environment(slices.Concat(e.base(), settings))
	out, err := c.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("cairn %s: %w: %s", arguments[0], err, tail(string(out)))
	}
	return string(out), nil
}

// keepLogs copies the logs of processes and servers out of the folder, and returns a finding with their
// path.
func (e *experiment) keepLogs() []string {
	logs := map[string]string{"pgbouncer": e.poolerLog.String()}
	for i, p := range e.processes {
		logs[fmt.Sprintf("%02d-%s", i, p.name)] = p.log.String()
	}
	for i, s := range e.servers {
		logs[fmt.Sprintf("postgres-%d", i)] = s.Log()
	}
	kept, err := os.MkdirTemp("", "cairn-production-logs-")
	if err != nil {
		return []string{"the logs are lost: " + err.Error()}
	}
	for name, text := range logs {
		if text == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(kept, name+".log"), []byte(text), 0o600); err != nil {
			return []string{"the logs are lost: " + err.Error()}
		}
	}
	return []string{"logs saved to " + kept}
}

// tail returns the end of a text.
func tail(text string) string {
	const most = 600
	return text[max(0, len(text)-most):]
}
