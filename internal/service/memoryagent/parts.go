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
	"cairn/internal/service/conversation"
	"cairn/internal/service/longterm"
)

// Part is what one request shows of a session that is too long for it: some
// messages, both ends included, or a piece of one message.
type Part struct {
	FromSeq int `json:"from_seq"`
	ToSeq   int `json:"to_seq"`
	Piece   int `json:"piece,omitempty"`  // from 1, of a message that has several
	Pieces  int `json:"pieces,omitempty"` // of which the message has so many
}

// frameTokens is what stands around the text of a message: index, role and time.
const frameTokens = 12

// partTokens is how much of a session one request shows.
func partTokens(l conversation.Limits) int {
	if room := l.Room(); room > 0 {
		return min(sessionTokens, room)
	}
	return sessionTokens
}

// divide makes parts of a session, between turns where that is possible. A session
// that one request can show has none.
func divide(said []transcript.Message, chars, tokens int) (out []Part) {
	shown := rendered(said, chars)
	weigh := func(m prompt.Message) (n int) {
		n = frameTokens + llm.EstimateTokens(m.Content)
		for _, c := range m.ToolCalls {
			n += llm.EstimateTokens(c)
		}
		return n
	}
	from, turn, used := 0, 0, 0 // the part begins at from, and its latest turn at turn
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
			if turn > from && turn < i { // what was begun goes along
				end(turn)
			} else {
				end(i)
			}
			used = 0
			for _, kept := range shown[from:i] {
				used += weigh(kept)
			}
			if used+weight > tokens { // one turn alone is too long
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

// pieceOf is one of several pieces of a text, which together are all of it. It
// begins and ends between words.
func pieceOf(text string, piece, pieces int) string {
	runes := []rune(text)
	at := func(n int) int {
		const near = 200 // characters before the place in which a blank is looked for
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

// parts is how many there are to be gone through: those of a long session, and at
// its end a look back on all of them.
func (p PinnedSpec) parts(kind run.Kind) int {
	if kind == run.Summarize && len(p.Parts) > 1 {
		return len(p.Parts) + 1
	}
	return 1
}

// divided tells which part each response of a run is about, which one the next,
// and the last response about an earlier one.
func divided(w conversation.RunView, p PinnedSpec) (of []int, next, since int) {
	n := p.parts(w.Run.Kind)
	return conversation.Divided(w.Steps, n, max(2, w.Spec.Budget.Max/n))
}

// Reached tells how far into a long session the next response is.
func (s AgentHooks) Reached(w conversation.RunView) (since int, more bool) {
	p, err := pinned(w)
	if err != nil {
		return 0, false
	}
	_, next, since := divided(w, p)
	return since, next < p.parts(w.Run.Kind)-1
}

// partOf is the part that response n of a meta-summarizer is about, nil of a
// session that one request shows. What it asks for in the end is about the last.
func partOf(w conversation.RunView, p PinnedSpec, n int) (number int, part *Part) {
	if len(p.Parts) < 2 {
		return 0, nil
	}
	w.Steps = slices.DeleteFunc(slices.Clone(w.Steps), func(s conversation.Step) bool { return s.N >= n })
	_, next, _ := divided(w, p)
	next = min(next, len(p.Parts)-1)
	return next + 1, &p.Parts[next]
}

// readTo is the last message that a run is through with, if there is one: of a
// session in parts, of the part before the one that it has come to.
func readTo(w conversation.RunView, p PinnedSpec, reason agent.Reason) (seq int, any bool) {
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

// lookedBack is what the agent said at the end of each part.
func lookedBack(w conversation.RunView, p PinnedSpec) (out []string) {
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

// session is what a request of a run shows of its session. Short asks for less: an
// endpoint has said that it was too much.
func (s *Service) session(ctx context.Context, w conversation.RunView, p PinnedSpec, m *prompt.Material, short bool) error {
	part := Part{FromSeq: w.Spec.FromSeq, ToSeq: w.Spec.ToSeq}
	switch _, next, _ := divided(w, p); {
	case len(p.Parts) > 1 && next == len(p.Parts):
		m.Notes = lookedBack(w, p)
		return nil
	case len(p.Parts) > 1:
		part, m.Task = p.Parts[next], fmt.Sprintf("%d/%d", next+1, len(p.Parts))
	case len(p.Parts) == 1: // of a specialist
		part = p.Parts[0]
	}
	var c transcript.Conversation
	err := s.LongTerm.Store.WithLongTerm(ctx, w.Run.Workspace, func(ctx context.Context, tx longterm.Tx) (err error) {
		c, err = tx.Sessions().Conversation(ctx, w.Run.Conversation, part.FromSeq, part.ToSeq)
		return err
	})
	if err != nil {
		return err
	}
	m.Messages = rendered(memory.Said(c.Messages), w.Spec.Limits.ResultChars)
	if part.Pieces > 0 && len(m.Messages) == 1 {
		m.Messages[0].Content = pieceOf(m.Messages[0].Content, part.Piece, part.Pieces)
	}
	if short {
		m.Messages = newest(conversation.Fitted(*m, shortTokens).Messages, shortTokens)
	} else if len(p.Parts) == 0 {
		m.Messages = newest(m.Messages, sessionTokens)
	}
	return nil
}
