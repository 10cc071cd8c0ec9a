package metrics

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// promptPrefix is the latest prompt prefix of a conversation, and the times in the past hour at which
// it changed.
type promptPrefix struct {
	prefix  [32]byte
	changed []time.Time
}

// conversations is the number of conversations to remember: those with the latest requests.
const conversations = 10_000

var prefixes, _ = lru.New[int64, promptPrefix](conversations) // fails only for a size of 0

// RecordPromptPrefix stores the hash of the beginning of a conversation's prompt. Model providers
// cache prompt prefixes, and a changed prefix misses the cache. Each change is counted under the
// number of changes of that conversation within the hour, as seen by this process.
func RecordPromptPrefix(conversation int64, prefix [32]byte, now time.Time) {
	mu.Lock()
	defer mu.Unlock()
	old := func(at time.Time) bool { return now.Sub(at) > time.Hour }
	s, known := prefixes.Get(conversation)
	if known && s.prefix != prefix {
		recent := []time.Time{now}
		for _, at := range s.changed {
			if !old(at) {
				recent = append(recent, at)
			}
		}
		s.changed = recent[:min(len(recent), maxPrefix)]
		all.Prefix[len(s.changed)]++
	}
	s.prefix = prefix
	prefixes.Add(conversation, s)
}
