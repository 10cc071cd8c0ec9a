package agentrun

import (
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/transcript"
)

// asked returns the user messages of this turn with their time. They are indexed with the reply, so
// that searches during the turn do not find the turn itself.
func (st *runState) asked() (out []transcript.Message) {
	for _, m := range st.earlier {
		if m.Turn == st.turn.Number {
			m.Time = st.turn.AcceptedAt
			out = append(out, m.Message)
		}
	}
	return out
}

// Number sets the sequence numbers of messages, starting at from.
func Number(ms []transcript.Message, from int) {
	for i := range ms {
		ms[i].Seq = from + i
	}
}

// answer returns the messages of a turn after the user message: calls, their results and the reply.
func (st *runState) answer(e ending, notice string) (out []transcript.Message) {
	for _, s := range st.steps {
		if len(s.Calls) == 0 {
			continue
		}
		m := transcript.Message{Role: transcript.Assistant, Content: s.Content}
		for _, c := range s.Calls {
			m.ToolCalls = append(m.ToolCalls, transcript.ToolCall{ID: c.ID, Name: c.Tool, Arguments: c.Arguments})
		}
		out = append(out, m)
		for _, c := range s.Calls {
			if c.AtClient() {
				continue // the client sends its result with the next turn
			}
			out = append(out, transcript.Message{Role: transcript.Tool, Name: c.Tool, ToolCallID: c.ID,
				Content: c.Answer(e.reason.SkipReason())})
		}
	}
	if e.reason != agent.ClientTools { // else the calls are the reply
		text := st.replyText(e)
		if unread := st.notice(); unread != "" && !e.told {
			text += "\n\n" + unread
		}
		if notice != "" && st.spec.Channel != "voice" {
			text += "\n\n" + notice
		}
		out = append(out, transcript.Message{Role: transcript.Assistant, Content: text})
	}
	first := len(st.asked()) // the turn may have several messages of the user and results of the client's tools
	for i := range out {
		out[i].ID = MessageID(st.turn.MessageID, first+i)
	}
	return out
}

// MessageID returns the ID of message i of a turn. The first one has the channel's ID. The others
// contain a character that channel IDs cannot have.
func MessageID(of string, i int) string {
	if i == 0 {
		return of
	}
	return fmt.Sprintf("%s%s%d", of, conversation.WithinTurn, i)
}
