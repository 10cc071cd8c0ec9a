package workingmemory

import (
	"fmt"

	"cairn/internal/domain/lang"
	"cairn/internal/domain/transcript"
)

// Tokens estimates the tokens of messages.
func Tokens(ms []transcript.Message) (n int) {
	for _, m := range ms {
		n += lang.EstimateTokens(m.Content)
		for _, c := range m.ToolCalls {
			n += lang.EstimateTokens(c.Name) + lang.EstimateTokens(c.Arguments)
		}
	}
	return n
}

// head returns the number of leading system messages.
func head(ms []transcript.Message) (n int) {
	for n < len(ms) && ms[n].Role == transcript.System {
		n++
	}
	return n
}

// recent returns the index of the first message to leave unchanged. These are the last keep
// messages, at least the last user turn, together with the calls of their results.
func recent(ms []transcript.Message, keep int) int {
	at := max(len(ms)-keep, 0)
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i].Role == transcript.User {
			at = min(at, i)
			break
		}
		if i == 0 { // there is no user message
			at = 0
		}
	}
	return alignCut(ms, at, head(ms))
}

// validCuts reports, for each position between messages, whether a cut there keeps every call with its
// results.
func validCuts(ms []transcript.Message) []bool {
	inside := make([]int, len(ms)+2) // number of call-result pairs that start or end at a position
	called := map[string]int{}
	for i, m := range ms {
		for _, c := range m.ToolCalls {
			called[c.ID] = i
		}
		if at, found := called[m.ToolCallID]; found && m.Role == transcript.Tool {
			inside[at+1]++
			inside[i+1]--
		}
	}
	whole, around := make([]bool, len(ms)+1), 0
	for i := range whole {
		around += inside[i]
		whole[i] = around == 0
	}
	return whole
}

// alignCut moves a cut back to a position that keeps every call with its results.
func alignCut(ms []transcript.Message, at, least int) int {
	for whole := validCuts(ms); at > least && !whole[at]; {
		at--
	}
	return max(at, least)
}

// Compact offloads the tool results among the older messages that are too big. Each message keeps a
// pointer as its content.
func Compact(ms []transcript.Message, o Options) (out []transcript.Message, away []Blob) {
	from, to := head(ms), recent(ms, o.KeepRecent)
	out = append(out, ms...)
	if Tokens(ms[from:to]) <= o.TotalTokens {
		return out, nil
	}
	for i := from; i < to; i++ {
		m := &out[i]
		size := lang.EstimateTokens(m.Content)
		if m.Role != transcript.Tool || size <= o.ToolTokens || Pointed(m.Content) != "" {
			continue
		}
		b := NewText(m.Content, "result of "+m.Name)
		if short := pointer(b, o.Preview); lang.EstimateTokens(short) < size {
			m.Content, away = short, append(away, b)
		}
	}
	return out, away
}

// Group is a range of older messages, from From to before To, that one snapshot replaces.
type Group struct {
	From, To int
	Blob     Blob
}

// Groups divides the older messages. There are none if the messages are few enough.
func Groups(ms []transcript.Message, o Options) ([]Group, error) {
	from, to := head(ms), recent(ms, o.KeepRecent)
	if Tokens(ms[from:to]) <= o.TotalTokens {
		return nil, nil
	}
	return GroupsOf(ms, from, to, o.GroupTokens)
}

// GroupsOf divides messages[from:to] into groups of about the given tokens. A group never separates
// a call from its results.
func GroupsOf(ms []transcript.Message, from, to, tokens int) (out []Group, err error) {
	whole := validCuts(ms[:to])
	for from < to {
		end, size := from, 0
		for end < to {
			next := end + 1
			for next < to && !whole[next] {
				next++
			}
			more := Tokens(ms[end:next])
			if end > from && size+more > tokens {
				break
			}
			end, size = next, size+more
		}
		g := Group{From: from, To: end}
		if g.Blob, err = NewMessages(ms[from:end], fmt.Sprintf("messages %d to %d", from+1, end)); err != nil {
			return nil, err
		}
		out, from = append(out, g), end
	}
	return out, nil
}

// New is the Seq of a message that replaces others and has no position of its own.
const New = -1

// Compressed replaces groups by the texts of their snapshots.
func Compressed(ms []transcript.Message, groups []Group, texts []string) (out []transcript.Message) {
	at := 0
	for i, g := range groups {
		out = append(out, ms[at:g.From]...)
		out = append(out, transcript.Message{Seq: New, Role: transcript.User, Content: texts[i]})
		at = g.To
	}
	return append(out, ms[at:]...)
}
