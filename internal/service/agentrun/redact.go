package agentrun

import (
	"slices"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/transcript"
)

// redacted returns a copy of st in which placeholders replace the secrets of the conversation, of
// the calls and of their results, and of the client's instructions. All of it is redacted before
// anything is clipped or left out, so that no part of a secret remains, and equal values have equal
// placeholders in every request that shows the same messages.
func (st *runState) redacted() *runState {
	if st.spec.PlainTurns {
		return st
	}
	r := guard.NewRedactor(guard.Options{})
	text := func(content string) string {
		out, _ := r.Messages([]transcript.Message{{Content: content}})
		return out[0].Content
	}
	out := *st
	out.turn.Record.Content = text(st.turn.Record.Content)
	out.earlier = slices.Clone(st.earlier)
	for i := range out.earlier {
		m, _ := r.Messages([]transcript.Message{out.earlier[i].Message})
		out.earlier[i].Message = m[0]
	}
	out.steps = slices.Clone(st.steps)
	for i := range out.steps {
		s := &out.steps[i]
		s.Content = text(s.Content)
		s.Calls = slices.Clone(s.Calls)
		for j := range s.Calls {
			s.Calls[j].Arguments, s.Calls[j].Result = text(s.Calls[j].Arguments), text(s.Calls[j].Result)
		}
	}
	out.spec.Client.Instructions = text(st.spec.Client.Instructions)
	return &out
}
