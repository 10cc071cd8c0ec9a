package nudge

import "cairn/internal/domain/agent"

// roleUser is the role of messages that people write.
const roleUser = "user"

// endReviewAt is the number of unreviewed turns that start a review when a conversation ends. Fewer
// are left to the daily reflection.
const endReviewAt = 3

// Settings configure the reviews. The zero value starts none; Default returns the defaults.
type Settings struct {
	// Every is the number of eligible turns without a save until a review. The default is 10; 0
	// turns these reviews off.
	Every int `json:"every"`
	// ToolIters is the number of model calls with tool calls until a review of skills. The default
	// is 0, off.
	ToolIters int `json:"tool_iters"`
	// Off turns all reviews off. The default is false.
	Off bool `json:"off"`
	// OnEnd also starts a review when a conversation ends. The default is true.
	OnEnd bool `json:"on_end"`
	// DailyCap is the maximum number of reviews of a workspace in a day. The default is 12.
	DailyCap int `json:"daily_cap"`
}

// Default returns the default settings.
func Default() Settings { return Settings{Every: 10, OnEnd: true, DailyCap: 12} }

// Capped reports whether no other review may start today.
func (s Settings) Capped(startedToday int) bool { return startedToday >= s.DailyCap }

// Turn is what the counters need to know about a completed turn.
type Turn struct {
	// Number is Counters.Total+1 from before the turn. A turn that is not eligible leaves its
	// number to the next one.
	Number      int
	Origin      agent.Origin // who started the turn; only a person's turns are eligible
	Role        string       // of the message that the turn replies to
	Delivered   bool         // its reply reached the channel
	Interrupted bool
	Failed      bool
	ToolIters   int // model calls with tool calls
	// SavedMemory is true if a memory write of the turn was committed: not staged, unchanged or
	// failed.
	SavedMemory bool
	SavedSkill  bool // a save or patch of a skill was committed
}

// Eligible reports whether a turn is counted. Scheduled turns, sub-agents and reviews are not,
// because they would use up the interval between two reviews.
func (t Turn) Eligible() bool {
	return t.Role == roleUser && t.Origin == agent.OriginUser && t.Delivered && !t.Interrupted && !t.Failed
}

// Counters are the state of one conversation. The zero value is a new conversation. Values are
// absolute, so storing them twice is safe.
type Counters struct {
	// Memory counts eligible turns since a memory was saved or a review of memories started.
	Memory int `json:"memory,omitempty"`
	// Skill counts eligible turns since a skill was saved or a review of skills started.
	Skill int `json:"skill,omitempty"`
	// ToolIters counts model calls with tool calls since the same moment as Skill.
	ToolIters int `json:"tool_iters,omitempty"`
	// Total counts eligible turns. It is the number of the latest one.
	Total int `json:"total,omitempty"`
	// LastReviewed is the number of the latest turn that a review has read.
	LastReviewed int `json:"last_reviewed,omitempty"`
	// InFlight is the number of the turn whose review is running, 0 if there is none.
	InFlight int `json:"in_flight,omitempty"`
}

// After returns the counters after a turn. A turn that is not eligible changes nothing.
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

// Due returns which reviews to start now. If both are due, one run does both. Call it after an
// eligible turn. While a review runs, none is due, and the counters may exceed their thresholds.
func Due(c Counters, s Settings) (memory, skill bool) {
	if s.Off || c.InFlight != 0 {
		return false, false
	}
	memory = s.Every > 0 && c.Memory >= s.Every
	skill = s.Every > 0 && c.Skill >= s.Every || s.ToolIters > 0 && c.ToolIters >= s.ToolIters
	return memory, skill
}

// Started records a review that was due at a turn. Call it only when the start is confirmed: if a
// start fails, the counters are unchanged and the next turn tries again.
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

// Finished records that the review started at a turn has read everything up to that turn. If
// another review is running, because the first was reported as lost, that review stays in flight.
func Finished(c Counters, turn int) Counters {
	c.LastReviewed = max(c.LastReviewed, turn)
	return Lost(c, turn)
}

// Lost records that a review failed or did not report in time. Its turns stay unreviewed.
func Lost(c Counters, turn int) Counters {
	if c.InFlight == turn {
		c.InFlight = 0
	}
	return c
}

// Join merges two views of one conversation: the counters with the higher total (ours if they are
// equal) and the latest review of either.
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

// EndDue reports whether a conversation that ends needs a review.
func EndDue(c Counters, s Settings) bool {
	return !s.Off && s.OnEnd && c.InFlight == 0 && c.Total-c.LastReviewed >= endReviewAt
}
