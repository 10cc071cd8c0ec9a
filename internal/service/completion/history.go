package completion

import (
	"crypto/sha256"
	"encoding/json"
	"strings"

	"cairn/internal/domain/transcript"
)

// divided are the messages of a request: those of earlier turns, the last reply among them, and those
// of the new turn.
type divided struct {
	before []transcript.Message // up to the reply
	reply  []transcript.Message // messages of the assistant at the end of the earlier ones
	now    []transcript.Message // what follows the last message of the assistant
}

func divide(ms []transcript.Message) (d divided) {
	to := len(ms)
	for to > 0 && ms[to-1].Role != transcript.Assistant {
		to--
	}
	from := to
	for from > 0 && ms[from-1].Role == transcript.Assistant {
		from--
	}
	return divided{before: ms[:from], reply: ms[from:to], now: ms[to:]}
}

// visible is a message as far as it identifies a history. Clients change the white space of texts.
type visible struct {
	Role  transcript.Role       `json:"role"`
	Text  string                `json:"text"`
	Calls []transcript.ToolCall `json:"calls,omitempty"`
	Call  string                `json:"call,omitempty"`
}

// historySHA returns the hash of messages.
func historySHA(ms []transcript.Message) [32]byte {
	all := make([]visible, len(ms))
	for i, m := range ms {
		all[i] = visible{m.Role, plain(m.Content), m.ToolCalls, m.ToolCallID}
	}
	return shaOf(all)
}

// shaOf returns the hash of a value of strings and numbers, which always marshals.
func shaOf(v any) [32]byte {
	raw, _ := json.Marshal(v)
	return sha256.Sum256(raw)
}

// plain returns a text with single spaces.
func plain(text string) string { return strings.Join(strings.Fields(text), " ") }

// matches reports whether messages of the assistant are the reply of a turn: its text, and its calls of
// the client's tools. The client of an interrupted turn may have less of its text, or more.
func matches(said []transcript.Message, text string, calls []transcript.ToolCall, interrupted bool) bool {
	var have strings.Builder
	var called []transcript.ToolCall
	for _, m := range said {
		have.WriteString(m.Content + " ")
		called = append(called, m.ToolCalls...)
	}
	mine, theirs := plain(text), plain(have.String())
	if len(called) != len(calls) {
		return false
	}
	for i := range called {
		if called[i].ID != calls[i].ID || called[i].Name != calls[i].Name {
			return false
		}
	}
	if interrupted {
		return strings.HasPrefix(mine, theirs) || strings.Contains(theirs, mine)
	}
	return mine == theirs
}
