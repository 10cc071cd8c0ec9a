package designer

import (
	"cmp"
	"maps"
	"slices"
)

// Defaults of a buffer.
const (
	DefaultWindow = 100   // in iterations; about one stage
	DefaultRoom   = 2_000 // in cases
)

// Buffer holds the failures of recent iterations, one case for each query. It is a value: Fail and
// Succeed return another buffer.
type Buffer struct {
	window, room int
	cases        map[string]Case
}

// NewBuffer returns a buffer with the given cases. It keeps cases of the last window iterations, at
// most room of them.
func NewBuffer(window, room int, cases ...Case) Buffer {
	b := Buffer{window: window, room: room, cases: map[string]Case{}}
	for _, c := range cases {
		b.cases[c.Key()] = c
	}
	return b
}

// Fail records a failure in an iteration. A query that failed before keeps its case with the new
// data and one more failure. Several failures in one iteration, from several episodes of one trace,
// are one failure.
func (b Buffer) Fail(c Case, iteration int) Buffer {
	c.Iteration, c.Failures = iteration, 1
	if earlier, there := b.cases[c.Key()]; there {
		c.Failures = earlier.Failures
		if earlier.Iteration != iteration {
			c.Failures++
		}
	}
	b.cases = maps.Clone(b.cases)
	b.cases[c.Key()] = c
	b.expire(iteration)
	return b
}

// Succeed records a good reply to a query. It halves the failures of the case, and removes the case
// if none are left.
func (b Buffer) Succeed(key string, iteration int) Buffer {
	b.cases = maps.Clone(b.cases)
	if c, there := b.cases[key]; there {
		if c.Failures /= 2; c.Failures == 0 {
			delete(b.cases, key)
		} else {
			b.cases[key] = c
		}
	}
	b.expire(iteration)
	return b
}

// Cases returns the cases of the window of an iteration, ascending by key.
func (b Buffer) Cases(iteration int) []Case {
	b.cases = maps.Clone(b.cases)
	b.expire(iteration)
	return slices.SortedFunc(maps.Values(b.cases), byKey)
}

// expire removes the cases before the window and the oldest beyond the room. Of equally old ones,
// it removes those with fewer failures.
func (b Buffer) expire(iteration int) {
	maps.DeleteFunc(b.cases, func(_ string, c Case) bool { return c.Iteration < iteration-b.window })
	if len(b.cases) <= max(0, b.room) {
		return
	}
	newest := slices.SortedFunc(maps.Values(b.cases), func(x, y Case) int {
		return cmp.Or(cmp.Compare(y.Iteration, x.Iteration), cmp.Compare(y.Failures, x.Failures), byKey(x, y))
	})
	for _, c := range newest[max(0, b.room):] {
		delete(b.cases, c.Key())
	}
}

func byKey(x, y Case) int { return cmp.Compare(x.Key(), y.Key()) }
