package transcript

import (
	"crypto/sha256"
	"slices"
)

// notSessions are formats whose session is the ID of a task, which several conversations can have.
var notSessions = []string{"swe-agent", "openhands"}

// SessionKey identifies the session of a conversation in all versions of its file. Ok is false if the file names no
// session.
func (c Conversation) SessionKey() (key []byte, ok bool) {
	if c.Session == "" || slices.Contains(notSessions, c.Format) {
		return nil, false
	}
	sum := sha256.Sum256([]byte(c.Format + "\x00" + c.Session))
	return sum[:], true
}

// Continues reports whether the messages of a later version of a session begin with those of an earlier one.
func Continues(earlier, later []Message) bool {
	if len(earlier) > len(later) {
		return false
	}
	for i, m := range earlier {
		n := later[i]
		if m.Role != n.Role || m.Content != n.Content || m.ToolCallID != n.ToolCallID ||
			!slices.Equal(m.ToolCalls, n.ToolCalls) {
			return false
		}
	}
	return true
}
