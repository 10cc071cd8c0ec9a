package devtest

import (
	"fmt"
	"slices"
	"testing"
)

func TestAServerIsLeftInTimeAndEndsWithItsLastTest(t *testing.T) {
	t.Parallel()
	var started, ended []string
	s := succession{each: 2, start: func() (string, func(), error) {
		name := fmt.Sprint("server ", len(started))
		started = append(started, name)
		return name, func() { ended = append(ended, name) }, nil
	}}
	var leave []func()
	for i, want := range []string{"server 0", "server 0", "server 1", "server 1"} {
		address, over, err := s.enter()
		if address != want || err != nil {
			t.Errorf("test %d is on %q, %v", i, address, err)
		}
		leave = append(leave, over)
	}
	for i, want := range [][]string{{}, {"server 0"}, {"server 0"}, {"server 0"}} { // the latest stays
		leave[i]()
		if !slices.Equal(ended, want) {
			t.Errorf("after %d tests %q have ended", i+1, ended)
		}
	}
	if _, _, err := s.enter(); err != nil || !slices.Equal(ended, []string{"server 0", "server 1"}) {
		t.Errorf("with its successor %q have ended, %v", ended, err)
	}
}

func TestAServerThatDoesNotStartIsTriedAgain(t *testing.T) {
	t.Parallel()
	broken := true
	s := succession{each: 2, start: func() (string, func(), error) {
		if broken {
			return "", nil, fmt.Errorf("no port")
		}
		return "server", func() {}, nil
	}}
	if _, _, err := s.enter(); err == nil {
		t.Error("a server that did not start was given")
	}
	broken = false
	if address, _, err := s.enter(); address != "server" || err != nil {
		t.Errorf("then %q, %v", address, err)
	}
}
