package agentrun

import (
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
)

// request builds the model request of a step. Responses up to since are not shown. The ledger
// stores the bytes of the first request, so a second attempt sends the same request.
func (st *runState) request(step agent.Step, note string, since int, short bool) llm.Request {
	st = st.redacted()
	r := llm.Request{Model: st.spec.Model, MaxTokens: st.spec.Limits.MaxTokens,
		Label: llm.Label{Stage: string(st.run.Kind), Run: st.run.Ref.Run,
			Task: fmt.Sprintf("step %d", step.N)}}
	client := st.spec.Client
	if st.run.Kind == run.Turn || st.run.Kind == run.Completion {
		r.ToolChoice, r.Temperature, r.Sampling = client.ToolChoice, client.Temperature, client.Sampling
	}
	if st.run.Kind == run.Turn {
		r.System, r.Tools = st.session.Rendered, st.session.Tools
		if client.Instructions != "" {
			r.System += "\n\n" + client.Instructions
		}
		r.Messages = st.conversation(short)
	} else if st.agent == nil {
		r.System, r.Tools = st.spec.System, st.spec.Tools
		r.Messages = llm.User(st.spec.Material)
	}
	r.Messages = append(r.Messages, st.priorMessages(step.N, since)...)
	if note != "" {
		r.Messages = append(r.Messages, llm.Message{Role: llm.RoleUser, Content: note})
	}
	if st.spec.Origin.Autonomous() { // autonomous runs need no variety
		r.Temperature = new(0.0)
	}
	if step.Toolless {
		r.ToolChoice = llm.ChooseNone
	}
	return r
}

// priorMessages returns the responses and results of this run after step since and before step n.
func (st *runState) priorMessages(n, since int) (out []llm.Message) {
	for _, s := range st.steps {
		// Empty responses are not shown to the model.
		if s.N >= n || s.N <= since || s.Content == "" && len(s.Calls) == 0 {
			continue
		}
		if s.Note != "" {
			out = append(out, llm.Message{Role: llm.RoleUser, Content: s.Note})
		}
		m := llm.Message{Role: llm.RoleAssistant, Content: s.Content}
		for _, c := range s.Calls {
			m.Calls = append(m.Calls, llm.ToolCall{ID: c.ID, Name: c.Tool, Arguments: c.Arguments})
		}
		out = append(out, m)
		for _, c := range s.Calls {
			out = append(out, llm.Message{Role: llm.RoleTool, CallID: c.ID,
				Content: transcript.Clip(c.Answer(agent.SkipInterrupted), st.spec.Limits.ResultChars)})
		}
	}
	return out
}

// conversation returns the messages up to the one being answered: the record, if one exists, and
// the newest whole turns that fit. Turns are dropped only after a model has rejected the request as
// too long, or if no record could be made.
func (st *runState) conversation(short bool) []llm.Message {
	left, images := st.spec.Limits.history()-llm.EstimateTokens(st.turn.Record.Content), st.images(short)
	if short { // the model rejected the request as too long
		left /= shortPart
	}
	var turns [][]llm.Message
	for i := len(st.earlier); i > 0; {
		from := i - 1
		// Results of a client's tools start a turn, and their calls end the one before it.
		for from > 0 && (st.earlier[from-1].Turn == st.earlier[from].Turn || st.earlier[from].Role == transcript.Tool) {
			from--
		}
		turn, tokens := st.thread(st.earlier[from:i], images)
		if st.earlier[i-1].Turn != st.turn.Number {
			if left -= tokens; left < 0 {
				break
			}
		}
		turns = append(turns, turn)
		i = from
	}
	var out []llm.Message
	if st.turn.Record.Upto > 0 {
		out = append(out, llm.Message{Role: llm.RoleUser, Content: st.turn.Record.Content})
	}
	for i := len(turns) - 1; i >= 0; i-- {
		out = append(out, turns[i]...)
	}
	return withoutRepeatedFailures(out)
}

// withoutRepeatedFailures keeps the first of the failed calls that are equal: the same tool with the same arguments or
// the same error. The first is kept, so that the beginning of later requests stays the same.
func withoutRepeatedFailures(ms []llm.Message) (out []llm.Message) {
	seen := map[string]bool{}
	for len(ms) > 0 {
		m, end := ms[0], 1
		for end < len(ms) && ms[end].Role == llm.RoleTool {
			end++
		}
		results := ms[1:end]
		ms = ms[end:]
		if len(m.Calls) > 0 {
			m.Calls, results = withoutSeen(m.Calls, results, seen)
		}
		if m.Content != "" || len(m.Calls) > 0 || len(m.Images) > 0 {
			out = append(out, m)
		}
		out = append(out, results...)
	}
	return out
}

// withoutSeen removes the failed calls of a message that equal one that was seen, with their results.
func withoutSeen(calls []llm.ToolCall, results []llm.Message, seen map[string]bool) (kept []llm.ToolCall,
	left []llm.Message) {
	dropped := map[string]bool{}
	for _, c := range calls {
		at := slices.IndexFunc(results, func(r llm.Message) bool { return r.CallID == c.ID })
		var envelope struct{ OK *bool }
		if at >= 0 && json.Unmarshal([]byte(results[at].Content), &envelope) == nil && envelope.OK != nil &&
			!*envelope.OK {
			byArguments, byError := c.Name+" "+agent.ArgsSHA([]byte(c.Arguments)), c.Name+" "+results[at].Content
			dropped[c.ID] = seen[byArguments] || seen[byError]
			seen[byArguments], seen[byError] = true, true
		}
		if !dropped[c.ID] {
			kept = append(kept, c)
		}
	}
	for _, r := range results {
		if !dropped[r.CallID] {
			left = append(left, r)
		}
	}
	return kept, left
}

// shortPart divides the history limit after a model has rejected the request as too long.
const shortPart = 4

// thread renders the messages of one turn, or of turns that tools of the client connect. A transcript may
// lack calls or results. Endpoints reject a call without its result directly after it, and a result without its
// call.
func (st *runState) thread(ms []conversation.TurnMessage, images map[int][]llm.Image) (out []llm.Message, tokens int) {
	used := make([]bool, len(ms)) // results rendered with their call
	context := st.turn.Context    // of the first user message of the turn
	for i, m := range ms {
		r := llm.Message{Role: string(m.Role), Content: m.Content}
		switch m.Role {
		case transcript.Tool:
			if used[i] {
				continue
			}
			r.Role, r.Content = llm.RoleUser, transcript.Clip(m.Content, st.spec.Limits.ResultChars)
		case transcript.User:
			r.Images = images[m.Seq]
			tokens += len(r.Images) * llm.ImageTokens
			if m.Name != "" { // one of several speakers
				r.Content = m.Name + ": " + m.Content
			}
			if m.Turn == st.turn.Number {
				r.Content, context = context+r.Content, ""
			}
		case transcript.System:
			r.Role = llm.RoleUser
		}
		var results []llm.Message
		for _, c := range m.ToolCalls {
			answer := llm.Message{Role: llm.RoleTool, CallID: c.ID, Content: noResult}
			for k := i + 1; k < len(ms); k++ {
				if ms[k].Role == transcript.Tool && ms[k].ToolCallID == c.ID && !used[k] {
					used[k], answer.Content = true, transcript.Clip(ms[k].Content, st.spec.Limits.ResultChars)
					break
				}
			}
			r.Calls, results = append(r.Calls, llm.ToolCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments}),
				append(results, answer)
			tokens += llm.EstimateTokens(c.Arguments)
		}
		if r.Content == "" && len(r.Calls) == 0 { // no text and no calls
			continue
		}
		for _, msg := range append([]llm.Message{r}, results...) {
			tokens += llm.EstimateTokens(msg.Content)
			out = append(out, msg)
		}
	}
	return out, tokens
}

// noResult replaces the missing result of a call in an observed turn, or of a client's tool.
const noResult = `{"ok":false,"error":{"code":"not_found","message":"not answered by the client"}}`
