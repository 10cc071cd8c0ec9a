package metrics

import (
	"maps"
	"testing"
	"time"
)

// The counters belong to the process, so these cases run in order.
func TestChangesOfAPromptsBeginningAreCountedWithinTheHour(t *testing.T) {
	one, other, third := [32]byte{1}, [32]byte{2}, [32]byte{3}
	now := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	RecordPromptPrefix(1, one, at(0))
	RecordPromptPrefix(1, one, at(10))
	RecordPromptPrefix(2, other, at(10)) // another conversation
	if n := Read().Prefix; len(n) != 0 {
		t.Errorf("without a change %v are counted", n)
	}
	RecordPromptPrefix(1, other, at(31)) // the first
	RecordPromptPrefix(1, third, at(62)) // the second within the hour
	RecordPromptPrefix(1, one, at(100))  // the second: the first is older
	if n, want := Read().Prefix, map[int]int{1: 1, 2: 2}; !maps.Equal(n, want) {
		t.Errorf("counted %v, want %v", n, want)
	}
}

func TestTheMemoryOfPromptsIsBounded(t *testing.T) {
	now := time.Now()
	for i := range int64(2*conversations + 5) {
		RecordPromptPrefix(-i, [32]byte{}, now)
	}
	if prefixes.Len() != conversations {
		t.Errorf("%d conversations are remembered", prefixes.Len())
	}
}
