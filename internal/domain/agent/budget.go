package agent

import (
	"fmt"
	"time"

	"cairn/internal/domain/fault"
)

// Channels of a conversation.
const (
	ChannelVoice     = "voice"
	ChannelSMS       = "sms"
	ChannelChat      = "chat"
	ChannelScheduled = "scheduled"
)

// MaxOverride is the highest number of model calls that a caller may request.
const MaxOverride = 50

// refundLimit is the number of units that one run can get back, if its budget has refunds.
const refundLimit = 2

// Budget limits the model calls of one run. They are counted nowhere else. One model response is
// one unit, regardless of its tool calls and of the attempts of its activity.
type Budget struct {
	Max      int `json:"max"`                // model calls, 1–50
	Used     int `json:"used,omitempty"`     // units spent, less the refunded ones
	Refunds  int `json:"refunds,omitempty"`  // units that can be refunded in the run
	Refunded int `json:"refunded,omitempty"` // units that were refunded

	// What follows if the units are spent and the model still calls tools:
	Grace        bool `json:"grace,omitempty"`         // one more call, outside the budget and without tools
	LastToolless bool `json:"last_toolless,omitempty"` // the last unit is a call without tools
	// for background runs: the tools of the last reply run, then the run ends
	RunLast bool `json:"run_last,omitempty"`
	// the tools of the last reply run, then one more call follows, outside the budget and without
	// tools
	Wrap bool `json:"wrap,omitempty"`

	// the model is informed once, at three quarters of the units, how many are left
	Checkpoint bool `json:"checkpoint,omitempty"`

	Wall time.Duration `json:"wall,omitempty"` // limit of the whole run; 0 means no limit
}

// ForChannel returns the budget of a turn. An unknown channel has the budget of sms.
func ForChannel(channel string) Budget {
	switch channel {
	case ChannelVoice:
		// Voice platforms hang up after about 8 s, so the time limit is the tightest here.
		return Budget{Max: 6, LastToolless: true, Wall: 7 * time.Second}
	case ChannelChat:
		return Budget{Max: 10, Refunds: refundLimit, Grace: true, Wall: 2 * time.Minute}
	case ChannelScheduled:
		return Budget{Max: 15, Refunds: refundLimit, Grace: true, Wall: 10 * time.Minute}
	}
	return Budget{Max: 10, Refunds: refundLimit, Grace: true, Wall: time.Minute}
}

// ForNudge returns the budget of a review after a turn: five calls and no grace call.
func ForNudge() Budget {
	return Budget{Max: 5, RunLast: true, Wall: 3 * time.Minute}
}

// ForFlush returns the budget of a review before a compaction. A user waits for it.
func ForFlush() Budget {
	return Budget{Max: 2, RunLast: true, Wall: time.Minute}
}

// ForAgent returns the budget of an agent of long-term memory: steps replies with tools, all of
// which run, and then a report.
func ForAgent(steps int, wall time.Duration) Budget {
	return Budget{Max: steps, Refunds: refundLimit, Wrap: true, Wall: wall}
}

// ForReflection returns the budget of the daily reflection.
func ForReflection() Budget {
	return Budget{Max: 15, Refunds: refundLimit, RunLast: true, Wall: 15 * time.Minute}
}

// ForChild returns the budget of a sub-agent with the units that its parent's SubagentBudget
// granted. It never exceeds the grant, and its last call is the report.
func ForChild(granted int, wall time.Duration) Budget {
	return Budget{Max: granted, LastToolless: true, Wall: wall}
}

// Override replaces Max and nothing else. 0 keeps it. A number outside 1–50 is rejected rather than
// clamped, so that a caller does not get fewer calls than requested without notice.
func (b Budget) Override(n int) (Budget, error) {
	if n == 0 {
		return b, nil
	}
	if n < 1 || n > MaxOverride {
		return b, fault.New(fault.InvalidArgument, fmt.Sprintf("max turns %d is outside 1–%d", n, MaxOverride),
			"use 1 to 50, or 0 for the budget of the channel")
	}
	b.Max = n
	return b, nil
}

// Left returns the number of unspent units.
func (b Budget) Left() int { return max(b.Max-b.Used, 0) }

// atCheckpoint reports whether three quarters of the units are spent and some are left.
func (b Budget) atCheckpoint() bool { return b.Checkpoint && 4*b.Used >= 3*b.Max && b.Left() > 0 }

// refund returns one unit, and reports whether the run had a refund left.
func (b Budget) refund() (Budget, bool) {
	if b.Refunded >= b.Refunds || b.Used == 0 {
		return b, false
	}
	b.Used--
	b.Refunded++
	return b, true
}
