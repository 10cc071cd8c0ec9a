package agent

import (
	"fmt"
	"time"

	"cairn/internal/domain/fault"
)

// The channels that a conversation can be on.
const (
	ChannelVoice     = "voice"
	ChannelSMS       = "sms"
	ChannelChat      = "chat"
	ChannelScheduled = "scheduled"
)

// MaxOverride is the most model calls that a caller may ask for.
const MaxOverride = 50

// refundLimit is how many units one run gets back where refunds exist at all.
const refundLimit = 2

// Budget limits the model calls of one run, and is the only place where they are
// counted. One model response is one unit, however many tools it calls and
// however often its activity was attempted.
type Budget struct {
	Max      int `json:"max"`                // model calls, 1–50
	Used     int `json:"used,omitempty"`     // units spent, less those that came back
	Refunds  int `json:"refunds,omitempty"`  // how many units may come back in the run
	Refunded int `json:"refunded,omitempty"` // how many did

	// What follows when the units are spent and tools are still asked for:
	Grace        bool `json:"grace,omitempty"`         // one more call, outside the budget and without tools
	LastToolless bool `json:"last_toolless,omitempty"` // the last unit is a call without tools
	// nobody waits for an answer: the last reply's tools run, then it stops
	RunLast bool `json:"run_last,omitempty"`
	// the last reply's tools run, then one more call, outside the budget and without tools
	Wrap bool `json:"wrap,omitempty"`

	// at three quarters of the units the model is told once how many are left
	Checkpoint bool `json:"checkpoint,omitempty"`

	Wall time.Duration `json:"wall,omitempty"` // of the whole run; 0 is no limit
}

// ForChannel is the budget of a turn. An unknown channel gets that of sms.
func ForChannel(channel string) Budget {
	switch channel {
	case ChannelVoice:
		// Voice platforms hang up after about 8 s, so time comes first there.
		return Budget{Max: 6, LastToolless: true, Wall: 7 * time.Second}
	case ChannelChat:
		return Budget{Max: 10, Refunds: refundLimit, Grace: true, Wall: 2 * time.Minute}
	case ChannelScheduled:
		return Budget{Max: 15, Refunds: refundLimit, Grace: true, Wall: 10 * time.Minute}
	}
	return Budget{Max: 10, Refunds: refundLimit, Grace: true, Wall: time.Minute}
}

// ForNudge is the budget of a review after a turn: five calls and never a sixth.
func ForNudge() Budget {
	return Budget{Max: 5, RunLast: true, Wall: 3 * time.Minute}
}

// ForFlush is the budget of a review before a conversation is compacted: somebody
// waits for it.
func ForFlush() Budget {
	return Budget{Max: 2, RunLast: true, Wall: time.Minute}
}

// ForAgent is the budget of an agent of long-term memory: so many replies with
// tools, all of which run, and then a report.
func ForAgent(steps int, wall time.Duration) Budget {
	return Budget{Max: steps, Refunds: refundLimit, Wrap: true, Wall: wall}
}

// ForReflection is the budget of the nightly review.
func ForReflection() Budget {
	return Budget{Max: 15, Refunds: refundLimit, RunLast: true, Wall: 15 * time.Minute}
}

// ForChild is the budget of a sub-agent with the units that its parent's Pool
// granted. It never exceeds the grant, and its last call is the report.
func ForChild(granted int, wall time.Duration) Budget {
	return Budget{Max: granted, LastToolless: true, Wall: wall}
}

// Override replaces Max and nothing else. 0 keeps it; what is not in 1–50 is
// refused rather than clamped, so that nobody gets less than was asked for unnoticed.
func (b Budget) Override(n int) (Budget, error) {
	if n == 0 {
		return b, nil
	}
	if n < 1 || n > MaxOverride {
		return b, fault.New(fault.InvalidArgument, fmt.Sprintf("max turns override %d is outside 1–%d", n, MaxOverride),
			"leave it out, or 0, for the channel's own budget")
	}
	b.Max = n
	return b, nil
}

// Left is how many units are unspent.
func (b Budget) Left() int { return max(b.Max-b.Used, 0) }

// atCheckpoint tells whether three quarters of the units are spent, and some are left.
func (b Budget) atCheckpoint() bool { return b.Checkpoint && 4*b.Used >= 3*b.Max && b.Left() > 0 }

// refund gives one unit back, and tells whether the run had one to get.
func (b Budget) refund() (Budget, bool) {
	if b.Refunded >= b.Refunds || b.Used == 0 {
		return b, false
	}
	b.Used--
	b.Refunded++
	return b, true
}
