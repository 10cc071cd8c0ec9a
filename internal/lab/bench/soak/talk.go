package soak

import (
	"fmt"
	"math/rand/v2"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/nudge"
)

// act is what the model does in a turn before it replies.
type act int

const (
	answers act = iota // only replies: one model call
	saves              // saves a memory: two model calls
	looks              // searches memories: two model calls
)

// talk is one conversation with its expected effects.
type talk struct {
	name    string // also the name of the workspace
	acts    []act  // one per turn
	reviews []review
	after   nudge.Counters // expected counters at the end
}

// review is an expected review.
type review struct {
	number        int  // number of the turn, all of which count here
	memory, skill bool // kinds of entries that it looks for
	atEnd         bool // whether it runs at the end of the conversation
}

// defaults are the settings of a workspace without changes.
var defaults = nudge.Default()

// Percentages of turns; the others only reply.
const (
	saveShare = 15
	lookShare = 25
)

// talks creates n random conversations. Every second one saves no memories in turns, so its
// reviews occur at the regular intervals.
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

// foresee computes the expected reviews. It assumes that a review ends before the next one is
// due, which awaitReview ensures.
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

// dueAfter reports whether a review must start after a turn, or at the end.
func (t *talk) dueAfter(turn int, atEnd bool) bool {
	for _, r := range t.reviews {
		if r.number == turn && r.atEnd == atEnd {
			return true
		}
	}
	return false
}

// mark returns the name of a turn in its messages, reply and memories.
func (t *talk) mark(turn int) string { return fmt.Sprintf("%s-t%02d", t.name, turn) }

// says returns the user's message, which determines what the model does.
func (t *talk) says(turn int) string {
	switch t.acts[turn-1] {
	case saves:
		return fmt.Sprintf("This is %s: please remember what I like.", t.mark(turn))
	case looks:
		return fmt.Sprintf("This is %s: please look up what I like.", t.mark(turn))
	}
	return fmt.Sprintf("This is %s: how are you today?", t.mark(turn))
}
