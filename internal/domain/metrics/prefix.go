package metrics

import (
	"maps"
	"time"
)

// said is what is known of a conversation's prompts: how the latest one began, when
// that was, and when it had changed within the hour before.
type said struct {
	prefix  [32]byte
	at      time.Time
	changed []time.Time
}

// conversations bounds how many are remembered; those that were silent for an hour
// make room first.
const conversations = 10_000

var heard = map[int64]said{}

// RecordPromptPrefix notes with what a request of a conversation began. Providers keep what they
// have computed of a prompt's beginning, and cannot use it when it changes: each time
// it does is counted by how often it has within the hour, as this process saw it.
func RecordPromptPrefix(conversation int64, prefix [32]byte, now time.Time) {
	mu.Lock()
	defer mu.Unlock()
	old := func(at time.Time) bool { return now.Sub(at) > time.Hour }
	s, known := heard[conversation]
	if known && s.prefix != prefix {
		recent := []time.Time{now}
		for _, at := range s.changed {
			if !old(at) {
				recent = append(recent, at)
			}
		}
		s.changed = recent[:min(len(recent), mostPrefix)]
		all.Prefix[len(s.changed)]++
	}
	if len(heard) >= conversations && !known {
		maps.DeleteFunc(heard, func(_ int64, s said) bool { return old(s.at) })
	}
	if len(heard) >= conversations && !known {
		clear(heard)
	}
	s.prefix, s.at = prefix, now
	heard[conversation] = s
}
