package memoryagent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/store"
)

// Part is the part of a long session that one request contains: a range of messages, both ends
// included, or a piece of one message.
type Part struct {
	FromSeq int `json:"from_seq"`
	ToSeq   int `json:"to_seq"`
	Piece   int `json:"piece,omitempty"`  // from 1, if the message is split
	Pieces  int `json:"pieces,omitempty"` // number of pieces of the message
}

// frameTokens estimates the tokens around the text of a message: index, role and time.
const frameTokens = 12

// partTokens returns how many tokens of a session one request may contain.
func partTokens(l agentrun.Limits) int {
	if room := l.Room(); room > 0 {
		return min(sessionTokens, room)
	}
	return sessionTokens
}

// divide splits a session into parts, between turns where possible. If one request can contain the
// session, divide returns nil.
func divide(messages []transcript.Message, chars, tokens int) (out []Part) {
	shown := rendered(messages, chars)
	weigh := func(m prompt.Message) (n int) {
		n = frameTokens + llm.EstimateTokens(m.Content)
		for _, c := range m.ToolCalls {
			n += llm.EstimateTokens(c)
		}
		return n
	}
	from, turn, used := 0, 0, 0 // the part starts at from, its last turn at turn
	end := func(to int) {
		if to > from {
			out = append(out, Part{FromSeq: shown[from].Index, ToSeq: shown[to-1].Index})
		}
		from = to
	}
	for i, m := range shown {
		weight := weigh(m)
		if m.Role == string(transcript.User) {
			turn = i
		}
		if used+weight > tokens {
			if turn > from && turn < i { // move the incomplete turn to the next part
				end(turn)
			} else {
				end(i)
			}
			used = 0
			for _, kept := range shown[from:i] {
				used += weigh(kept)
			}
			if used+weight > tokens { // a single turn is too long
				end(i)
				used = 0
			}
		}
		if used += weight; weight > tokens {
			pieces := (weight + tokens - 1) / tokens
			for n := range pieces {
				out = append(out, Part{FromSeq: m.Index, ToSeq: m.Index, Piece: n + 1, Pieces: pieces})
			}
			from, used = i+1, 0
		}
	}
	if end(len(shown)); len(out) < 2 {
		return nil
	}
	return out
}

// pieceOf returns one of several pieces of a text, split between words. The pieces together are the
// complete text.
func pieceOf(text string, piece, pieces int) string {
	runes := []rune(text)
	at := func(n int) int {
		const near = 200 // search range for a space, in runes
		place := n * len(runes) / pieces
		if n == 0 || n == pieces {
			return place
		}
		for i := place; i > max(0, place-near); i-- {
			if unicode.IsSpace(runes[i-1]) {
				return i
			}
		}
		return place
	}
	return string(runes[at(piece-1):max(at(piece-1), at(piece))])
}

// parts returns the number of phases of a run: one per part of a long session, and a final review
// of all parts.
func (p PinnedSpec) parts(kind run.Kind) int {
	if kind == run.Summarize && len(p.Parts) > 1 {
		return len(p.Parts) + 1
	}
	return 1
}

// divided assigns the responses of a run to the parts of a long session. It returns the part of each
// response, the part of the next one, and the number of the last response about an earlier part.
func divided(w agentrun.RunView, p PinnedSpec) (of []int, next, since int) {
	n := p.parts(w.Run.Kind)
	return agentrun.Divided(w.Steps, n, max(2, w.Spec.Budget.Max/n))
}

// Reached returns the progress in a long session: the last response about an earlier part, and
// whether more parts follow.
func (s AgentHooks) Reached(w agentrun.RunView) (since int, more bool) {
	p, err := pinned(w)
	if err != nil {
		return 0, false
	}
	_, next, since := divided(w, p)
	return since, next < p.parts(w.Run.Kind)-1
}

// partOf returns the part to which response n of a summarizer belongs, or nil if the session has no
// parts. The final review belongs to the last part.
func partOf(w agentrun.RunView, p PinnedSpec, n int) (number int, part *Part) {
	if len(p.Parts) < 2 {
		return 0, nil
	}
	w.Steps = slices.DeleteFunc(slices.Clone(w.Steps), func(s run.Step) bool { return s.N >= n })
	_, next, _ := divided(w, p)
	next = min(next, len(p.Parts)-1)
	return next + 1, &p.Parts[next]
}

// readTo returns the last message that a run has completely processed, if any. In a long session,
// this is the end of the previous part.
func readTo(w agentrun.RunView, p PinnedSpec, reason agent.Reason) (seq int, any bool) {
	if len(p.Parts) < 2 || reason == agent.Final {
		return w.Spec.ToSeq, reason == agent.Final || reason == agent.Exhausted || reason == agent.Guardrail
	}
	_, next, _ := divided(w, p)
	if next == len(p.Parts) {
		return w.Spec.ToSeq, true
	}
	seq = p.Parts[next].FromSeq - 1
	return seq, seq >= w.Spec.FromSeq
}

// partSummaries returns the last response about each part.
func partSummaries(w agentrun.RunView, p PinnedSpec) (out []string) {
	of, _, _ := divided(w, p)
	for n := range p.Parts {
		last := ""
		for i, s := range w.Steps {
			if of[i] == n {
				last = cmp.Or(strings.TrimSpace(s.Content), last)
			}
		}
		out = append(out, fmt.Sprintf("%d/%d: %s", n+1, len(p.Parts), last))
	}
	return out
}

// session adds the session, or its current part, to the prompt material. If short is set, it adds
// less, because the model endpoint rejected a longer request.
func (s *Service) session(ctx context.Context, w agentrun.RunView, p PinnedSpec, m *prompt.Material, short bool) error {
	part := Part{FromSeq: w.Spec.FromSeq, ToSeq: w.Spec.ToSeq}
	switch _, next, _ := divided(w, p); {
	case len(p.Parts) > 1 && next == len(p.Parts):
		m.Notes = partSummaries(w, p)
		return nil
	case len(p.Parts) > 1:
		part, m.Task = p.Parts[next], fmt.Sprintf("%d/%d", next+1, len(p.Parts))
	case len(p.Parts) == 1: // specialist
		part = p.Parts[0]
	}
	var c transcript.Conversation
	err := s.LongTerm.Store.InWorkspace(ctx, w.Run.Workspace, func(ctx context.Context, tx store.Tx) (err error) {
		c, err = tx.Transcripts().Conversation(ctx, w.Run.Conversation, part.FromSeq, part.ToSeq)
		return err
	})
	if err != nil {
		return err
	}
	m.Messages = rendered(memory.Dialogue(c.Messages), w.Spec.Limits.ResultChars)
	if part.Pieces > 0 && len(m.Messages) == 1 {
		m.Messages[0].Content = pieceOf(m.Messages[0].Content, part.Piece, part.Pieces)
	}
	if short {
		m.Messages = newest(agentrun.Fitted(*m, shortTokens).Messages, shortTokens)
	} else if len(p.Parts) == 0 {
		m.Messages = newest(m.Messages, sessionTokens)
	}
	return nil
}
