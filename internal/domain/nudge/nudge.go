package nudge

import "cairn/internal/domain/agent"

// roleUser is the role of the messages that people write.
const roleUser = "user"

// endReviewAt is how many unreviewed turns make a review worthwhile when a
// conversation ends. Fewer are left to the nightly reflection.
const endReviewAt = 3

// Settings say when reviews are wanted. The zero value wants none; Default is
// what holds where nobody chose.
type Settings struct {
	Every     int  `json:"every"`      // eligible turns without a save until a review; 0 never
	ToolIters int  `json:"tool_iters"` // model calls that ran tools, until a review of skills; 0 never
	Off       bool `json:"off,omitempty"`
	OnEnd     bool `json:"on_end"`    // review at the end of a conversation too
	DailyCap  int  `json:"daily_cap"` // reviews in a workspace and day
}

// Default is the settings of a workspace that chose none.
func Default() Settings { return Settings{Every: 10, OnEnd: true, DailyCap: 12} }

// Capped tells that no other review may start today.
func (s Settings) Capped(startedToday int) bool { return startedToday >= s.DailyCap }

// Turn is what the counters need to know of a turn that is over.
type Turn struct {
	// Counters.Total+1 from before it: a turn that does not count leaves its number to the next
	Number      int
	Origin      agent.Origin // who brought it about; only a person's turns count
	Role        string       // of the message that it answers
	Delivered   bool         // its final answer reached the channel
	Interrupted bool
	Failed      bool
	ToolIters   int  // model calls that ran tools
	SavedMemory bool // a memory write of the turn is committed: not staged, unchanged, a no-op or an error
	SavedSkill  bool // a save or patch of a skill is
}

// Eligible tells whether a turn counts. Scheduled turns, sub-agents and reviews
// do not, or they would eat up the interval between two reviews of what people said.
func (t Turn) Eligible() bool {
	return t.Role == roleUser && t.Origin == agent.OriginUser && t.Delivered && !t.Interrupted && !t.Failed
}

// Counters are the state of one conversation. The zero value is a new one. They
// are absolute, so writing them down twice does no harm.
type Counters struct {
	Memory       int `json:"memory,omitempty"`        // eligible turns since a memory was saved or its review started
	Skill        int `json:"skill,omitempty"`         // the same for skills
	ToolIters    int `json:"tool_iters,omitempty"`    // model calls that ran tools, since the same moment as Skill
	Total        int `json:"total,omitempty"`         // eligible turns; the number of the newest
	LastReviewed int `json:"last_reviewed,omitempty"` // number of the newest turn that a review has read
	InFlight     int `json:"in_flight,omitempty"`     // number of the turn whose review is running, 0 when none is
}

// After counts a turn. One that is not eligible changes nothing.
func After(c Counters, t Turn) Counters {
	if !t.Eligible() {
		return c
	}
	c.Total = max(c.Total+1, t.Number)
	c.Memory++
	c.Skill++
	c.ToolIters += t.ToolIters
	if t.SavedMemory {
		c.Memory = 0
	}
	if t.SavedSkill {
		c.Skill, c.ToolIters = 0, 0
	}
	return c
}

// Due tells which reviews to start now; both together are one run. It is asked
// after an eligible turn. While a review runs none is due, and the counters may
// pass their marks.
func Due(c Counters, s Settings) (memory, skill bool) {
	if s.Off || c.InFlight != 0 {
		return false, false
	}
	memory = s.Every > 0 && c.Memory >= s.Every
	skill = s.Every > 0 && c.Skill >= s.Every || s.ToolIters > 0 && c.ToolIters >= s.ToolIters
	return memory, skill
}

// Started notes a review of what was due at a turn. It is called when the start
// is confirmed and not before: a start that failed leaves the counters, and the
// next turn tries again.
func Started(c Counters, turn int, memory, skill bool) Counters {
	c.InFlight = turn
	if memory {
		c.Memory = 0
	}
	if skill {
		c.Skill, c.ToolIters = 0, 0
	}
	return c
}

// Finished notes that the review started at a turn has read everything up to it.
// A report that comes after Lost, when another review is running, leaves that one.
func Finished(c Counters, turn int) Counters {
	c.LastReviewed = max(c.LastReviewed, turn)
	return Lost(c, turn)
}

// Lost notes that a review has failed, or was not heard of in time. What it
// should have read stays unreviewed.
func Lost(c Counters, turn int) Counters {
	if c.InFlight == turn {
		c.InFlight = 0
	}
	return c
}

// Join brings together what two who count know of one conversation: the counts of
// whoever has counted further, ours when both have as far, and every review that
// either has heard of.
func Join(ours, theirs Counters) Counters {
	out := ours
	if theirs.Total > ours.Total {
		out = theirs
	}
	out.LastReviewed = max(ours.LastReviewed, theirs.LastReviewed)
	if out.InFlight <= out.LastReviewed {
		out.InFlight = 0
	}
	return out
}

// EndDue tells whether a conversation that ends is worth a review.
func EndDue(c Counters, s Settings) bool {
	return !s.Off && s.OnEnd && c.InFlight == 0 && c.Total-c.LastReviewed >= endReviewAt
}
