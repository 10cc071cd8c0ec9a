package devtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"cairn/internal/adapter/devstack"
)

// A development server goes through the counts of every namespace that it has had
// once a second, which cannot be turned off: with two hundred of them that is half
// of what it does. So a test process leaves a server when it has made so many
// namespaces there, and the next one is new. Too few would be lost to starts, of
// three quarters of a second of a processor each.
const (
	namespacesShared = 4 // of each process on the server of the run
	namespacesEach   = 32
)

// successors are the Temporal servers of this process, one after the other.
var successors = succession{each: namespacesEach, start: startTemporal}

// Temporal gives the address of a Temporal server on which the test may make one
// namespace. The server lives as long as the test, or longer.
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

func startTemporal() (address string, end func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	stack, err := devstack.Start(ctx, devstack.Options{SkipPostgres: true, SearchAttributes: SearchAttributes})
	if err != nil {
		return "", nil, err
	}
	return stack.TemporalAddress(), func() {
		if err := stack.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "devtest:", err)
		}
	}, nil
}

// succession is of servers that are left after so many tests each, and ended when
// the last test has left. The latest ends with the process.
type succession struct {
	each  int
	start func() (address string, end func(), err error)

	mu     sync.Mutex
	early  int // tests that were sent to the shared server
	latest *successor
}

// successor is one of the servers, with counts of tests.
type successor struct {
	address     string
	end         func()
	came, there int
}

// shared tells whether a test is among the first few.
func (s *succession) shared() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.early++
	return s.early <= namespacesShared
}

// enter gives the server's address and what to call when the test is over.
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
