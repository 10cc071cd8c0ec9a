package transcript

import "fmt"

// GatePolicy selects the conversations to distill.
type GatePolicy string

const (
	GateAuto  GatePolicy = "auto"  // enough tool messages, or enough messages from both sides
	GateMemos GatePolicy = "memos" // enough tool messages, the rule of MemOS
	GateOff   GatePolicy = "off"   // every conversation
)

// Values of the request's flag, which takes precedence over the policy.
const (
	ExtractAuto   = "auto"
	ExtractAlways = "always"
	ExtractNever  = "never"
)

const (
	defaultMinToolMessages = 5 // threshold of MemOS
	defaultMinMessages     = 6
)

// Gate decides whether a conversation is distilled, before any model call. The zero Gate is
// GateAuto with 5 tool messages or 6 messages.
type Gate struct {
	Policy          GatePolicy // empty means GateAuto
	MinToolMessages int        // 0 means 5
	MinMessages     int        // 0 means 6; only used by GateAuto
}

// Decision is the decision of a gate with its reason, which users can read.
type Decision struct {
	Pass       bool   `json:"pass"`
	Reason     string `json:"reason"`
	Messages   int    `json:"messages"` // without empty messages
	Tools      int    `json:"tools"`    // messages with role tool, including empty and identical ones
	Users      int    `json:"users"`    // messages that a person wrote
	Assistants int    `json:"assistants"`
}

// Decide returns the decision for a conversation. flag is ExtractNever, ExtractAlways or
// ExtractAuto. An empty flag means ExtractAuto.
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
		switch {
		case m.FromHuman():
			d.Users++
		case m.Role == Assistant:
			d.Assistants++
		}
	}
	return d
}
