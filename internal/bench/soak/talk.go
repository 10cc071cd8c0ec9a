package soak

import (
	"fmt"
	"math/rand/v2"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/nudge"
)

// act is what the model does in a turn before it answers.
type act int

const (
	answers act = iota // nothing: one call of the model
	saves              // a memory: two calls
	looks              // something up: two calls
)

// talk is one conversation, what is said in it and what must come of it.
type talk struct {
	name    string // the workspace's, too
	acts    []act  // one for each turn
	reviews []review
	after   nudge.Counters // when everything has ended
}

// review is one that must take place.
type review struct {
	number        int  // of the turn among those that count, which is all of them here
	memory, skill bool // what it looks for
	atEnd         bool // when its conversation ends
}

// defaults are the settings of a workspace that chose none.
var defaults = nudge.Default()

// shares of the turns, in percent; the others only answer.
const (
	saveShare = 15
	lookShare = 25
)

// talks draws n conversations. Every second one saves nothing by itself, so that
// its reviews fall on the round numbers.
func talks(n, turns int, draw *rand.Rand) []talk {
	out := make([]talk, n)
	for i := range out {
		t := talk{name: fmt.Sprintf("c%04d", i), acts: make([]act, turns)}
		for turn := range t.acts {
			switch lot := draw.IntN(100); {
			case lot < saveShare && i%2 == 1:
				t.acts[turn] = saves
			case lot >= 100-lookShare:
				t.acts[turn] = looks
			}
		}
		t.foresee(defaults)
		out[i] = t
	}
	return out
}

// foresee computes the reviews. Each is taken to be over before another could be
// due: the client sees to that, by waiting where it matters.
func (t *talk) foresee(s nudge.Settings) {
	var c nudge.Counters
	begin := func(memory, skill, atEnd bool) {
		t.reviews = append(t.reviews, review{number: c.Total, memory: memory, skill: skill, atEnd: atEnd})
		c = nudge.Finished(nudge.Started(c, c.Total, memory, skill), c.Total)
	}
	for _, a := range t.acts {
		said := nudge.Turn{Number: c.Total + 1, Origin: agent.OriginUser, Role: "user", Delivered: true,
			SavedMemory: a == saves}
		if a != answers {
			said.ToolIters = 1
		}
		c = nudge.After(c, said)
		if memory, skill := nudge.Due(c, s); memory || skill {
			begin(memory, skill, false)
		}
	}
	if nudge.EndDue(c, s) {
		begin(true, true, true)
	}
	t.after = c
}

// dueAfter tells whether a review must start after a turn, or at the end.
func (t *talk) dueAfter(turn int, atEnd bool) bool {
	for _, r := range t.reviews {
		if r.number == turn && r.atEnd == atEnd {
			return true
		}
	}
	return false
}

// mark names a turn in what is said, answered and remembered.
func (t *talk) mark(turn int) string { return fmt.Sprintf("%s-t%02d", t.name, turn) }

// says is what the user says; what the model does follows from it.
func (t *talk) says(turn int) string {
	switch t.acts[turn-1] {
	case saves:
		return fmt.Sprintf("This is %s: please remember what I like.", t.mark(turn))
	case looks:
		return fmt.Sprintf("This is %s: please look up what I like.", t.mark(turn))
	}
	return fmt.Sprintf("This is %s: how are you today?", t.mark(turn))
}
