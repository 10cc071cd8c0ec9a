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

// Budget limits the model calls of one run. They are counted nowhere else. One model response is
// one unit, regardless of its tool calls and of the attempts of its activity. The last unit is a call
// without tools, so that the run ends with a reply.
type Budget struct {
	Max  int `json:"max"`            // model calls, 1–50
	Used int `json:"used,omitempty"` // units spent

	// RunLast is for runs whose reply no one reads: the last unit has tools, they run, then the run ends.
	RunLast bool `json:"run_last,omitempty"`

	// the model is informed once, at three quarters of the units, how many are left
	Checkpoint bool `json:"checkpoint,omitempty"`

	Wall time.Duration `json:"wall,omitempty"` // limit of the whole run; 0 means no limit
}

// ForChannel returns the budget of a turn. An unknown channel has the budget of sms.
func ForChannel(channel string) Budget {
	switch channel {
	case ChannelVoice:
		// Voice platforms hang up after about 8 s, so the time limit is the tightest here.
		return Budget{Max: 6, Wall: 7 * time.Second}
	case ChannelChat:
		return Budget{Max: 10, Wall: 2 * time.Minute}
	case ChannelScheduled:
		return Budget{Max: 15, Wall: 10 * time.Minute}
	}
	return Budget{Max: 10, Wall: time.Minute}
}

// ForNudge returns the budget of a review after a turn.
func ForNudge() Budget {
	return Budget{Max: 5, RunLast: true, Wall: 3 * time.Minute}
}

// ForFlush returns the budget of a review before a compaction. A user waits for it.
func ForFlush() Budget {
	return Budget{Max: 2, RunLast: true, Wall: time.Minute}
}

// ForReflection returns the budget of the daily reflection.
func ForReflection() Budget {
	return Budget{Max: 15, RunLast: true, Wall: 15 * time.Minute}
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
