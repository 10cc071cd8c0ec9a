package memoryagent

import (
	"testing"
	"time"
)

// Adds end in their order, so a refused one has room after about the age of the oldest.
func TestRetryAfterFollowsTheQueue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		open, limit  int
		oldest, want time.Duration
	}{
		{2, 2, 0, time.Second}, {2, 2, 200 * time.Millisecond, time.Second}, {10, 10, 7 * time.Second, 7 * time.Second},
		{20, 10, 7 * time.Second, 14 * time.Second}, {10, 10, 2500 * time.Millisecond, 3 * time.Second},
		{10, 10, time.Hour, time.Minute}, {5, 0, 3 * time.Second, 15 * time.Second},
	} {
		if got := RetryAfter(c.open, c.limit, c.oldest); got != c.want {
			t.Errorf("%d of %d open, the oldest for %s: %s, want %s", c.open, c.limit, c.oldest, got, c.want)
		}
	}
}
