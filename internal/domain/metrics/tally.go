// Package metrics counts what this process has met that no row tells of and that
// whoever runs it wants to see. There is one process, so there is one tally, as
// there is of the Go runtime's own counts; /metrics shows it.
package metrics

import (
	"maps"
	"sync"
)

// Counts are what has happened since the process began.
type Counts struct {
	// kept entries that were not shown, since they would attack their reader, by store
	Blocked map[string]int
	// changes of how the prompts of a conversation begin, by how many there were within the hour
	Prefix map[int]int
	Learnt map[string]LearningOutcomes // outcomes of learning, by kind of run
}

// LearningOutcomes are outcomes that memory skills learn from.
type LearningOutcomes struct {
	Scored int // that a span or a question came to one
	Masked int // that trouble of the endpoint took away
	Alarms int // iterations or rounds of which too much was masked
}

var (
	mu  sync.Mutex
	all = Counts{map[string]int{}, map[int]int{}, map[string]LearningOutcomes{}}
)

// Blocked counts one look at an entry of a store that was kept out of a prompt or
// a list.
func Blocked(store string) {
	mu.Lock()
	defer mu.Unlock()
	all.Blocked[store]++
}

// Outcomes counts what an iteration of a training, or a round of evolution, came to.
func Outcomes(kind string, scored, masked int, alarm bool) {
	mu.Lock()
	defer mu.Unlock()
	n := all.Learnt[kind]
	n.Scored, n.Masked = n.Scored+scored, n.Masked+masked
	if alarm {
		n.Alarms++
	}
	all.Learnt[kind] = n
}

// mostPrefix is the last number of changes that is counted by itself.
const mostPrefix = 100

// Read is what was counted so far.
func Read() Counts {
	mu.Lock()
	defer mu.Unlock()
	return Counts{maps.Clone(all.Blocked), maps.Clone(all.Prefix), maps.Clone(all.Learnt)}
}
