package apiclient

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	memoLife    = time.Hour
	failureLife = time.Minute // until a platform is asked again for what it did not give
	maxMemo     = 10_000      // results that are kept: those used last
)

// Memo keeps the results of requests for an hour, and failures for a minute. It is safe for concurrent use.
type Memo struct {
	found *lru.Cache[string, remembered]
}

type remembered struct {
	value string
	until time.Time
}

// NewMemo returns an empty Memo.
func NewMemo() Memo {
	found, _ := lru.New[string, remembered](maxMemo) // fails only for a size of 0
	return Memo{found}
}

// Get returns the result for a key. It asks for an unknown one, and returns "" if that fails.
func (m Memo) Get(key string, ask func() (string, error)) string {
	known, ok := m.found.Get(key)
	if ok && time.Now().Before(known.until) {
		return known.value
	}
	value, err := ask()
	if err != nil {
		m.Put(key, "", failureLife)
		return ""
	}
	m.Put(key, value, memoLife)
	return value
}

// Put stores the result for a key for that time.
func (m Memo) Put(key, value string, life time.Duration) {
	m.found.Add(key, remembered{value, time.Now().Add(life)})
}
