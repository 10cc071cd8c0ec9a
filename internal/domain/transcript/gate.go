package transcript

import "fmt"

// GatePolicy says which conversations are worth distilling.
type GatePolicy string

const (
	GateAuto  GatePolicy = "auto"  // enough tool messages, or enough messages with both sides
	GateMemos GatePolicy = "memos" // enough tool messages, as MemOS demands
	GateOff   GatePolicy = "off"   // every conversation
)

// Values of the request's own flag, which wins over the policy.
const (
	ExtractAuto   = "auto"
	ExtractAlways = "always"
	ExtractNever  = "never"
)

const (
	defaultMinToolMessages = 5 // MemOS' threshold
	defaultMinMessages     = 6
)

// Gate decides before any model is called whether a conversation is distilled.
// The zero Gate is GateAuto with 5 tool messages or 6 messages.
type Gate struct {
	Policy          GatePolicy // empty means GateAuto
	MinToolMessages int        // 0 means 5
	MinMessages     int        // 0 means 6; used by GateAuto only
}

// Decision is what a gate found, and why: users ask why nothing was learned.
type Decision struct {
	Pass       bool   `json:"pass"`
	Reason     string `json:"reason"`
	Messages   int    `json:"messages"` // all but empty ones
	Tools      int    `json:"tools"`    // messages with role tool, empty and identical ones counted too
	Users      int    `json:"users"`
	Assistants int    `json:"assistants"`
}

// Decide weighs a conversation. flag is ExtractNever, ExtractAlways,
// ExtractAuto or empty, which is ExtractAuto.
func (g Gate) Decide(messages []Message, flag string) Decision {
	d := count(messages)
	minTools, minMessages := g.MinToolMessages, g.MinMessages
	if minTools == 0 {
		minTools = defaultMinToolMessages
	}
	if minMessages == 0 {
		minMessages = defaultMinMessages
	}
	both := d.Users > 0 && d.Assistants > 0
	switch {
	case flag == ExtractNever:
		d.Reason = "the request says never"
	case d.Messages == 0:
		d.Reason = "no messages"
	case flag == ExtractAlways:
		d.Pass, d.Reason = true, "the request says always"
	case g.Policy == GateOff:
		d.Pass, d.Reason = true, "the gate is off"
	case d.Tools >= minTools:
		d.Pass, d.Reason = true, fmt.Sprintf("%d ≥ %d tool messages", d.Tools, minTools)
	case g.Policy == GateMemos:
		d.Reason = fmt.Sprintf("%d < %d tool messages", d.Tools, minTools)
	case d.Messages >= minMessages && both:
		d.Pass, d.Reason = true, fmt.Sprintf("%d ≥ %d messages with both sides", d.Messages, minMessages)
	case d.Messages >= minMessages:
		d.Reason = fmt.Sprintf("%d < %d tool messages, and only one side speaks", d.Tools, minTools)
	default:
		d.Reason = fmt.Sprintf("%d < %d tool messages and %d < %d messages", d.Tools, minTools, d.Messages, minMessages)
	}
	return d
}

func count(messages []Message) Decision {
	var d Decision
	for _, m := range messages {
		if m.Role == Tool {
			d.Tools++
		} else if m.Empty() {
			continue
		}
		d.Messages++
		switch m.Role {
		case User:
			d.Users++
		case Assistant:
			d.Assistants++
		}
	}
	return d
}
