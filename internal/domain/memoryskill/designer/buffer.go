package designer

import (
	"cmp"
	"maps"
	"slices"
)

// Defaults of a buffer.
const (
	DefaultWindow = 100   // iterations; about a stage
	DefaultRoom   = 2_000 // cases
)

// Buffer holds the failures of the last iterations, one case a query. It is a
// value: Fail and Succeed leave the buffer they are called on as it is.
type Buffer struct {
	window, room int
	cases        map[string]Case
}

// NewBuffer holds cases of at most window iterations ago, at most room of them,
// and begins with those given.
func NewBuffer(window, room int, cases ...Case) Buffer {
	b := Buffer{window: window, room: room, cases: map[string]Case{}}
	for _, c := range cases {
		b.cases[c.Key()] = c
	}
	return b
}

// Fail notes a failure in an iteration. A query that failed before keeps its case,
// with what happened now and one failure more; failing twice in one iteration,
// when several episodes asked about one trace, counts once.
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

// Succeed notes that a query was answered well: its failures are halved, and at
// none the case is resolved.
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

// Cases are what is left in an iteration, ascending by key.
func (b Buffer) Cases(iteration int) []Case {
	b.cases = maps.Clone(b.cases)
	b.expire(iteration)
	return slices.SortedFunc(maps.Values(b.cases), byKey)
}

// expire drops the cases before the window and, beyond the room, the oldest; of
// equally old ones those that failed less often.
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
