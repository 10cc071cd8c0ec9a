// Package metrics holds counters that are not stored in Postgres. They belong to the process, and
// /metrics shows them.
package metrics

import (
	"maps"
	"sync"
)

// Counts are the counters since the process started.
type Counts struct {
	// Blocked counts unsafe entries that were withheld from prompts and lists, by store.
	Blocked map[string]int
	// Prefix counts the changes of prompt prefixes, by the number of changes within the hour.
	Prefix map[int]int
	Learnt map[string]LearningOutcomes // outcomes of learning, by kind of run
	// Inexact counts searches that reached a limit before the best documents by words were certain.
	Inexact int
	// Ambiguous counts messages to chat platforms that were sent again after an unknown outcome, by platform.
	Ambiguous map[string]int
	// Rejected counts events of chat platforms that were not read.
	Rejected map[Rejected]int
	// RefusedAdds counts adds to memory that were refused because too many were open.
	RefusedAdds int
}

// Rejected is why an event of a platform was not read.
type Rejected struct{ Platform, Reason string }

// Reasons of rejected events. The events are only counted: Cairn does not know whose data they have, so that no erasure
// would find them.
const (
	Unsigned    = "unsigned"    // its signature is not valid, or too old
	Undecodable = "undecodable" // it has a form that the adapter does not know
)

// LearningOutcomes counts the outcomes that memory skills learn from.
type LearningOutcomes struct {
	Scored int // outcomes with a score
	Masked int // outcomes lost to an endpoint failure
	Alarms int // iterations or rounds in which too many outcomes were masked
}

var (
	mu  sync.Mutex
	all = Counts{Blocked: map[string]int{}, Prefix: map[int]int{}, Learnt: map[string]LearningOutcomes{},
		Ambiguous: map[string]int{}, Rejected: map[Rejected]int{}}
)

// Blocked counts one entry of a store that was withheld from a prompt or a list.
func Blocked(store string) {
	mu.Lock()
	defer mu.Unlock()
	all.Blocked[store]++
}

// InexactSearch counts one search that reached a limit.
func InexactSearch() {
	mu.Lock()
	defer mu.Unlock()
	all.Inexact++
}

// AddRefused counts one add that was refused because too many were open.
func AddRefused() {
	mu.Lock()
	defer mu.Unlock()
	all.RefusedAdds++
}

// DeliveryAmbiguous counts one message that was sent again after an unknown outcome.
func DeliveryAmbiguous(platform string) {
	mu.Lock()
	defer mu.Unlock()
	all.Ambiguous[platform]++
}

// EventRejected counts one event that was not read.
func EventRejected(platform, reason string) {
	mu.Lock()
	defer mu.Unlock()
	all.Rejected[Rejected{platform, reason}]++
}

// Outcomes adds the outcomes of a training iteration or a round of evolution.
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

// maxPrefix is the highest number of changes with its own counter.
const maxPrefix = 100

// Read returns a copy of the counters.
func Read() Counts {
	mu.Lock()
	defer mu.Unlock()
	return Counts{maps.Clone(all.Blocked), maps.Clone(all.Prefix), maps.Clone(all.Learnt), all.Inexact,
		maps.Clone(all.Ambiguous), maps.Clone(all.Rejected), all.RefusedAdds}
}
