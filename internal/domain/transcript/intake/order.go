package intake

import (
	"fmt"

	"cairn/internal/domain/transcript"
)

// pairing gives IDs to calls and results of formats without IDs, in their order.
type pairing struct {
	made    int
	waiting []transcript.ToolCall
}

// call gives a call an ID if it has none, and expects its result.
func (p *pairing) call(c transcript.ToolCall) transcript.ToolCall {
	if c.ID == "" {
		p.made++
		c.ID = fmt.Sprintf("call-%d", p.made)
	}
	p.waiting = append(p.waiting, c)
	return c
}

// result returns the ID of the call that a result belongs to: the stated one, the oldest open call
// of the tool, or the oldest open call of any tool. It is empty for a result without a call.
func (p *pairing) result(id, tool string) string {
	at := -1
	for i, c := range p.waiting {
		if id != "" && c.ID == id || id == "" && (tool == "" || c.Name == tool) {
			at = i
			break
		}
	}
	if at < 0 && id == "" && len(p.waiting) > 0 {
		at = 0
	}
	if at < 0 {
		return id
	}
	id = p.waiting[at].ID
	p.waiting = append(p.waiting[:at:at], p.waiting[at+1:]...)
	return id
}
