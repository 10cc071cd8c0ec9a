package metrics

import (
	"maps"
	"time"
)

// promptPrefix is the latest prompt prefix of a conversation, the time of its latest request, and
// the times in the past hour at which the prefix changed.
type promptPrefix struct {
	prefix  [32]byte
	at      time.Time
	changed []time.Time
}

// conversations is the number of conversations to remember. If it is reached, those without a
// request in the past hour are dropped first.
const conversations = 10_000

var prefixes = map[int64]promptPrefix{}

// RecordPromptPrefix stores the hash of the beginning of a conversation's prompt. Model providers
// cache prompt prefixes, and a changed prefix misses the cache. Each change is counted under the
// number of changes of that conversation within the hour, as seen by this process.
func RecordPromptPrefix(conversation int64, prefix [32]byte, now time.Time) {
	mu.Lock()
	defer mu.Unlock()
	old := func(at time.Time) bool { return now.Sub(at) > time.Hour }
	s, known := prefixes[conversation]
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
	if len(prefixes) >= conversations && !known {
		maps.DeleteFunc(prefixes, func(_ int64, s promptPrefix) bool { return old(s.at) })
	}
	if len(prefixes) >= conversations && !known {
		clear(prefixes)
	}
	s.prefix, s.at = prefix, now
	prefixes[conversation] = s
}
