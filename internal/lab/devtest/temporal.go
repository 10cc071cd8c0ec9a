package devtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"

	"cairn/internal/lab/devtest/testrun"
)

// A development server reads the counters of all namespaces it ever had once a second, and this
// cannot be turned off. With two hundred namespaces it takes half of the server's time. A test
// process therefore starts a new server after a number of namespaces. A start takes 0.75 s of a
// processor, so the number must not be too small.
const (
	namespacesShared = 4 // of each process, on the shared server of the run
	namespacesEach   = 32
)

// successors are the Temporal servers of this process, one after the other.
var successors = succession{each: namespacesEach, start: startTemporal}

// Temporal returns the address of a Temporal server on which the test may create one namespace. The
// server lives at least as long as the test.
func Temporal(t testing.TB) string {
	t.Helper()
	stack := Stack(t)
	if os.Getenv("TEMPORAL_ADDRESS") != "" || successors.shared() {
		return stack.TemporalAddress
	}
	address, leave, err := successors.enter()
	if err != nil {
		t.Fatalf("start another Temporal server: %v", err)
	}
	t.Cleanup(leave)
	return address
}

// startTemporal starts a Temporal server that ends with this process, or earlier with end.
func startTemporal() (address string, end func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), testrun.Patience)
	defer cancel()
	run := testrun.This()
	folder, err := os.MkdirTemp(run.Folder, "temporal-")
	if err != nil {
		return "", nil, fmt.Errorf("create the folder of a Temporal server: %w", err)
	}
	servers, err := startServers(
		ctx,
		run.Folder,
		testrun.Order{Owner: testrun.Self(), Folder: folder, OnlyTemporal: true},
	)
	if err != nil {
		return "", nil, err
	}
	return servers.TemporalAddress, func() { _ = syscall.Kill(servers.Holder.PID, syscall.SIGTERM) }, nil
}

// succession manages servers that each serve a fixed number of tests. A server ends when its last
// test has ended. The latest server ends with the process.
type succession struct {
	each  int
	start func() (address string, end func(), err error)

	mu     sync.Mutex
	early  int // tests that were sent to the shared server
	latest *successor
}

// successor is one of the servers, with its test counters.
type successor struct {
	address     string
	end         func()
	came, there int
}

// shared reports whether a test is among the first few, which use the shared server.
func (s *succession) shared() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.early++
	return s.early <= namespacesShared
}

// enter returns the server's address and a function to call when the test ends.
func (s *succession) enter() (address string, leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest == nil || s.latest.came == s.each {
		next := &successor{}
		if next.address, next.end, err = s.start(); err != nil {
			return "", nil, err
		}
		if s.latest != nil && s.latest.there == 0 {
			s.latest.end()
		}
		s.latest = next
	}
	at := s.latest
	at.came++
	at.there++
	return at.address, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		at.there--
		if at != s.latest && at.there == 0 {
			at.end()
		}
	}, nil
}
