package devstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"cairn/internal/domain/fault"
)

// orchestrator is the Temporal server of a stack, whether managed or external.
type orchestrator interface {
	address() string
	namespace() string
	ui() string
	found() []Found
	restart(ctx context.Context, kill bool) error
	stop(ctx context.Context) error // until restart
	close() error
}

// serverSettings make the development server fast.
var serverSettings = []string{
	// The default is 20 a second, which delays every task of a workflow by 50 ms.
	"history.transferProcessorMaxPollRPS=2000",
	// With four partitions and two pollers some tasks wait two seconds.
	"matching.numTaskqueueReadPartitions=1",
	"matching.numTaskqueueWritePartitions=1",
	// Priority and fairness keys have no effect without these.
	"matching.useNewMatcher=true",
	"matching.enableFairness=true",
	// An activity on the workflow's own queue is returned with the response that scheduled it.
	"system.enableActivityEagerExecution=true",
	// A new search attribute can be used at once.
	"system.forceSearchAttributesCacheRefreshOnRead=true",
}

const (
	defaultNamespace = "default"
	// portAttempts is the number of attempts with other ports if another process takes a port
	// first.
	portAttempts = 3
)

// devServer is a private `temporal server start-dev`.
type devServer struct {
	program    string // the temporal command
	folder     string // holds the log, and the state if it persists
	lasting    bool   // the state is in a file, and the UI is on
	dir        string // folder of the stack, which stores the ports
	attributes map[string]string
	codec      string // URL of the codec that the UI decrypts with, "" for none
	at         ports
	version    string
	mu         sync.Mutex // held while the server is being started or stopped
	running    *guarded
	closed     bool
}

func startDevServer(ctx context.Context, program string, o Options) (orchestrator, error) {
	s := &devServer{program: program, dir: o.Dir, lasting: o.Dir != "", attributes: o.SearchAttributes, codec: o.Codec}
	var err error
	if s.lasting {
		s.folder = filepath.Join(s.dir, "temporal")
		err = os.MkdirAll(s.folder, 0o700)
	} else {
		s.folder, err = os.MkdirTemp("/tmp", "cairn-")
	}
	if err != nil {
		return nil, fmt.Errorf("create the folder of the Temporal server: %w", err)
	}
	if err := s.startSomewhere(ctx); err != nil {
		return nil, errors.Join(err, s.discard())
	}
	return s, nil
}

// startSomewhere chooses ports and starts the server. It retries if another process took a port in
// between.
func (s *devServer) startSomewhere(ctx context.Context) error {
	claim, err := s.claim(ctx)
	if err != nil {
		return err
	}
	defer claim.Close()
	if lock := portsLock(ctx); lock != nil {
		defer lock.Close()
	}
	for range portAttempts {
		if s.lasting {
			s.at, err = lastingPorts(s.dir)
		} else {
			s.at, err = choosePorts()
		}
		if err != nil {
			return err
		}
		if err = s.start(ctx, claim); !errors.Is(err, errEnded) {
			return err
		}
	}
	return err
}

// claim takes the lock of the server's state. A server that a killed process left inherits the
// lock; claim waits until its watchdog has stopped it.
func (s *devServer) claim(ctx context.Context) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	return lockFile(ctx, filepath.Join(s.folder, "temporal.lock"))
}

func (s *devServer) start(ctx context.Context, claim *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	if err := s.clearUnfinished(); err != nil {
		return err
	}
	output, err := openLog(s.logFile(), self())
	if err != nil {
		return err
	}
	defer output.Close()
	command := command{
		name: "Temporal", args: s.arguments(), dir: s.folder, account: self(), output: output, claim: claim,
		// HOME is private, because the command writes to ~/.config.
		env:    []string{"HOME=" + s.folder, "PATH=/usr/bin:/bin", "TZ=UTC"},
		gentle: "TERM", patience: orphanPatience, hard: "KILL",
	}
	if !s.lasting {
		command.remove = s.folder
		command.env = append(command.env, "GOGC=400") // the server lives for minutes
	}
	if s.running, err = guard(command); err != nil {
		return err
	}
	if err := s.awaitReady(ctx); err != nil {
		text, _ := os.ReadFile(s.logFile())
		// stop would remove the folder, which the next attempt needs.
		if err := s.running.end(context.WithoutCancel(ctx), "KILL"); err != nil {
			return err
		}
		return fault.Wrap(err, fault.Unavailable, "start the Temporal server: "+tail(string(text), 600),
			"see its log "+s.logFile())
	}
	return os.WriteFile(s.stateFile()+".ready", nil, 0o600)
}

func (s *devServer) arguments() []string {
	args := []string{s.program, "server", "start-dev", "--ip", loopback, "--port", strconv.Itoa(s.at.Temporal),
		"--log-level", "warn"}
	if s.lasting {
		args = append(args, "--ui-port", strconv.Itoa(s.at.UI), "--db-filename", s.stateFile())
		// With WAL a transaction is one synchronous write to disk. The default rollback journal
		// needs several: it is created, synchronized and deleted each time.
		args = append(args, "--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=full")
		if s.codec != "" {
			args = append(args, "--ui-codec-endpoint", s.codec)
		}
	} else {
		args = append(args, "--headless")
	}
	for _, name := range slices.Sorted(maps.Keys(s.attributes)) {
		args = append(args, "--search-attribute", name+"="+s.attributes[name])
	}
	for _, setting := range serverSettings {
		args = append(args, "--dynamic-config-value", setting)
	}
	return args
}

// errInMemory is returned for a stop or restart of a throw-away server.
var errInMemory = fault.New(fault.InvalidArgument,
	"a throw-away Temporal server keeps its state in memory and cannot be stopped or restarted",
	"set a data folder for the stack")

func (s *devServer) stop(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.lasting:
		return errInMemory
	case s.closed:
		return errClosed
	}
	return s.running.end(ctx, "KILL")
}

func (s *devServer) restart(ctx context.Context, kill bool) error {
	if !s.lasting {
		return errInMemory
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	signal := "TERM"
	if kill {
		signal = "KILL"
	}
	if s.closed {
		return errClosed
	}
	if lock := portsLock(ctx); lock != nil { // otherwise another stack may choose the ports while none listens
		defer lock.Close()
	}
	if err := s.running.end(ctx, signal); err != nil {
		return err
	}
	claim, err := s.claim(ctx)
	if err != nil {
		return err
	}
	defer claim.Close()
	return s.start(ctx, claim)
}

func (s *devServer) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if !s.lasting { // nothing to save, and a gentle stop takes a second
		_ = s.running.signal("KILL")
	}
	s.running.stop()
	return s.discard()
}

// discard removes a throw-away folder.
func (s *devServer) discard() error {
	if s.lasting {
		return nil
	}
	if err := os.RemoveAll(s.folder); err != nil {
		return fmt.Errorf("remove the throw-away Temporal server: %w", err)
	}
	return nil
}

func (s *devServer) stateFile() string { return filepath.Join(s.folder, "temporal.db") }
func (s *devServer) logFile() string   { return filepath.Join(s.folder, "temporal.log") }
func (s *devServer) namespace() string { return defaultNamespace }

func (s *devServer) address() string {
	return loopbackAddress(s.at.Temporal)
}

func (s *devServer) ui() string {
	if !s.lasting {
		return ""
	}
	return "http://" + loopbackAddress(s.at.UI)
}

func (s *devServer) found() []Found {
	found := []Found{{Part: "Temporal", Status: statusOK, Version: s.version, Where: s.program,
		Hint: "listening on " + s.address()}}
	if s.lasting {
		found = append(found, Found{Part: "Temporal UI", Status: statusOK, Where: s.ui()})
	}
	return found
}
