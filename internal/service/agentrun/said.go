package agentrun

import (
	"cairn/internal/domain/transcript"
	"fmt"
	"strings"
)

// asked is what the user said in this turn, at its time. It becomes findable with
// the answer: what looks something up for the turn is not shown the turn itself.
func (st *runState) asked() (out []transcript.Message) {
	for _, m := range st.earlier {
		if m.Turn == st.turn.Number {
			m.Time = st.turn.AcceptedAt
			out = append(out, m.Message)
		}
	}
	return out
}

// Number gives messages their places in the transcript.
func Number(ms []transcript.Message, from int) {
	for i := range ms {
		ms[i].Seq = from + i
	}
}

// answer is everything that the transcript keeps of a turn after what its user
// said: calls and their results, then the answer.
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
			out = append(out, transcript.Message{Role: transcript.Tool, Name: c.Tool, ToolCallID: c.ID,
				Content: c.result(e.reason.SkipReason())})
		}
	}
	text := st.words(e)
	if notice != "" && st.spec.Channel != "voice" {
		text += "\n\n" + notice
	}
	out = append(out, transcript.Message{Role: transcript.Assistant, Content: text})
	for i := range out {
		out[i].ID = MessageID(st.turn.MessageID, i+1)
	}
	return out
}

// MessageID names a message inside its conversation: the first of a turn has
// the channel's id. The others' cannot be one, for it has no such character.
func MessageID(of string, i int) string {
	if i == 0 {
		return of
	}
	return fmt.Sprintf("%s%s%d", of, withinTurn, i)
}

const withinTurn = "\x1f"

// TurnMessageID is the channel's id of the message that the turn of a message answers.
func TurnMessageID(id string) string {
	of, _, _ := strings.Cut(id, withinTurn)
	return of
}
