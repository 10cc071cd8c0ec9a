package devstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"cairn/internal/domain/fault"
)

// Options configure a development stack.
type Options struct {
	// Dir is the data folder. It is created if it is missing. "" means a throw-away stack in
	// temporary folders: removed at the end, fsync off, Temporal in memory and without UI.
	Dir string
	// Log receives progress messages for people, one per line. nil discards them.
	Log io.Writer
	// SearchAttributes are the search attributes that the Temporal server must have, name to type:
	// Bool, Datetime, Double, Int, Keyword, KeywordList or Text.
	SearchAttributes map[string]string
	SkipTemporal     bool // do not start Temporal
	SkipPostgres     bool // do not start PostgreSQL
	// Codec is the URL of the remote codec that a Temporal UI started here uses to decrypt
	// payloads, such as http://127.0.0.1:8080/codec. "" means none.
	Codec string
	// Buffers is the shared_buffers setting of a managed PostgreSQL, such as 2GB. "" means 128MB.
	Buffers string
}

// Stack is a running development stack. Its methods are safe for concurrent use.
type Stack struct {
	lease     *lease // nil for a throw-away stack
	database  database
	temporal  orchestrator
	closeOnce sync.Once
	closeErr  error
}

// errClosed is returned for a restart of a server in a closed stack.
var errClosed = fault.New(fault.Unavailable, "the development stack is closed", "start it again")

// Start finds the servers, installs what is missing and waits until they respond. ctx bounds the
// start, not the life of the servers. If a stack already runs on Dir, Start returns an error with
// the code already_exists; Running returns its addresses.
func Start(ctx context.Context, o Options) (*Stack, error) {
	s, log := &Stack{}, newJournal(o.Log)
	if o.Dir != "" {
		dir, err := filepath.Abs(o.Dir)
		if err != nil {
			return nil, fmt.Errorf("find the data folder: %w", err)
		}
		o.Dir = dir
		if s.lease, err = takeLease(ctx, dir); err != nil {
			return nil, err
		}
	}
	// The servers start in parallel.
	group, starting := errgroup.WithContext(ctx)
	if !o.SkipPostgres {
		group.Go(func() (err error) { s.database, err = startDatabase(starting, o, log); return err })
	}
	if !o.SkipTemporal {
		group.Go(func() (err error) { s.temporal, err = startTemporal(starting, o, log); return err })
	}
	err := group.Wait()
	if err == nil && s.lease != nil {
		err = s.lease.publish(s.addresses())
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// startDatabase tries the sources of PostgreSQL in order: DATABASE_URL, a local program, Docker.
func startDatabase(ctx context.Context, o Options, log *journal) (database, error) {
	if address := os.Getenv("DATABASE_URL"); address != "" {
		return useDatabase(ctx, address)
	}
	at, err := homeFor(o.Dir)
	if err != nil {
		return nil, err
	}
	if at.moved {
		log.say("PostgreSQL stores its data in %s: the account %s, which runs it for root, cannot enter %s", at.folder,
			at.account.name, o.Dir)
	}
	at.buffers = o.Buffers
	installed, err := findServer(ctx, at.account, at.major, log)
	if err == nil {
		return startCluster(ctx, at, installed)
	}
	if fault.CodeOf(err) == fault.Unavailable && at.major == 0 && dockerVersion(ctx) != "" {
		return startContainer(ctx, o.Dir, log)
	}
	return nil, err
}

// startTemporal tries the sources of a Temporal server in order: TEMPORAL_ADDRESS, a program.
func startTemporal(ctx context.Context, o Options, log *journal) (orchestrator, error) {
	if os.Getenv("TEMPORAL_ADDRESS") != "" {
		given, err := useTemporal(ctx, o.SearchAttributes, log)
		if err != nil {
			return nil, err
		}
		return given, nil
	}
	program, err := findTemporal(ctx, log)
	if err != nil {
		return nil, err
	}
	return startDevServer(ctx, program, o)
}

// DatabaseURL returns the administrator's connection string to the database `cairn`, or
// DATABASE_URL unchanged if it is set. It is "" without Postgres.
func (s *Stack) DatabaseURL() string { return s.addresses().DatabaseURL }

// TemporalAddress returns host:port of the Temporal frontend, or "" without Temporal.
func (s *Stack) TemporalAddress() string { return s.addresses().TemporalAddress }

// TemporalNamespace returns the namespace to use, or "" without Temporal.
func (s *Stack) TemporalNamespace() string { return s.addresses().TemporalNamespace }

// TemporalUI returns the base URL of the UI, or "" if it is unknown or no UI runs.
func (s *Stack) TemporalUI() string { return s.addresses().TemporalUI }

func (s *Stack) addresses() Addresses {
	a := Addresses{PID: os.Getpid()}
	if s.database != nil {
		a.DatabaseURL = s.database.url()
	}
	if s.temporal != nil {
		a.TemporalAddress, a.TemporalNamespace, a.TemporalUI = s.temporal.address(), s.temporal.namespace(),
			s.temporal.ui()
	}
	return a
}

// Describe lists the parts of the stack and their sources.
func (s *Stack) Describe() []Found {
	var found []Found
	if s.database != nil {
		found = slices.Concat(found, s.database.found())
	}
	if s.temporal != nil {
		found = slices.Concat(found, s.temporal.found())
	}
	return found
}

// RestartPostgres stops PostgreSQL and starts it again with the same data at the same address. If
// crash is true, it stops at once, as after a power failure, and recovers at the start. Connections
// break in both cases.
func (s *Stack) RestartPostgres(ctx context.Context, crash bool) error {
	if s.database == nil {
		return fault.New(fault.InvalidArgument, "this stack has no PostgreSQL", "start it without SkipPostgres")
	}
	return s.database.restart(ctx, crash)
}

// RestartTemporal stops the Temporal server and starts it again with the same state at the same
// address. If kill is true, it is stopped by SIGKILL. A throw-away stack cannot be restarted.
func (s *Stack) RestartTemporal(ctx context.Context, kill bool) error {
	if s.temporal == nil {
		return fault.New(fault.InvalidArgument, "this stack has no Temporal", "start it without SkipTemporal")
	}
	return s.temporal.restart(ctx, kill)
}

// StopTemporal stops the Temporal server at once, until RestartTemporal starts it again with the same
// state at the same address.
func (s *Stack) StopTemporal(ctx context.Context) error {
	if s.temporal == nil {
		return fault.New(fault.InvalidArgument, "this stack has no Temporal", "start it without SkipTemporal")
	}
	return s.temporal.stop(ctx)
}

// Close stops what Start has started, and nothing else. A second call has no effect.
func (s *Stack) Close() error {
	s.closeOnce.Do(func() {
		var group errgroup.Group
		if s.database != nil {
			group.Go(s.database.close)
		}
		if s.temporal != nil {
			group.Go(s.temporal.close)
		}
		s.closeErr = group.Wait()
		if s.lease != nil {
			s.lease.release()
		}
	})
	return s.closeErr
}
