package reflection

import (
	"context"
	"fmt"
	"slices"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/guard"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/metrics"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/reflection"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/store"
)

// Agent implements agentrun.Agent for reflections.
type Agent struct{ *Service }

var (
	_ agentrun.Agent          = Agent{}
	_ agentrun.MultipartAgent = Agent{}
)

// Tools returns the tools of a run. Their writes cite messages of the day.
func (s Agent) Tools(w agentrun.RunView) (agentrun.Tools, error) {
	p, err := pinned(w)
	return citing{Tools: s.Service.Tools, spans: p.Spans, date: p.Date}, err
}

// Subject is empty: the tools set it from the messages that a call cites.
func (s Agent) Subject(context.Context, agentrun.RunView, int64) (out agent.MemoryScope, err error) {
	return out, nil
}

// Reached implements agentrun.MultipartAgent with the parts of the day.
func (s Agent) Reached(w agentrun.RunView) (since int, more bool) {
	p, err := pinned(w)
	if err != nil {
		return 0, false
	}
	part, since := reached(w, p)
	return since, part < parts(p.Spans)-1
}

// reached returns the part of the next response, and the last response about the previous part.
func reached(w agentrun.RunView, p PinnedReflection) (part, since int) {
	n := parts(p.Spans)
	if n < 2 {
		return 0, 0
	}
	_, part, since = agentrun.Divided(w.Steps, n, max(2, w.Spec.Budget.Max/n))
	return part, since
}

// shownParts returns the number of parts that have a response.
func shownParts(w agentrun.RunView, p PinnedReflection) int {
	if len(w.Steps) == 0 {
		return 0
	}
	w.Steps = w.Steps[:len(w.Steps)-1]
	part, _ := reached(w, p)
	return part + 1
}

// shortRunes is the length to which messages are clipped after an endpoint has rejected a part as too long.
const shortRunes = 400

// Brief returns the current part of the day and the stored memories and notes.
func (s Agent) Brief(ctx context.Context, w agentrun.RunView, short bool) (out agentrun.PromptInput, err error) {
	p, err := pinned(w)
	if err != nil {
		return out, err
	}
	zone, err := recurrence.Zone(p.Zone)
	if err != nil {
		return out, err
	}
	known, err := s.Memory.Remembered(ctx, w.Run.Workspace)
	if err != nil {
		return out, fmt.Errorf("read the session context: %w", err)
	}
	part, _ := reached(w, p)
	m := prompt.Material{Task: p.Date, Memories: known.Entries(), Skills: known.SkillLines(), Language: w.Spec.Lang}
	if n := parts(p.Spans); n > 1 {
		m.Task = fmt.Sprintf("%s (%d/%d)", p.Date, part+1, n)
	}
	var said []reflection.Message
	err = s.Store.InWorkspace(ctx, w.Run.Workspace, func(ctx context.Context, tx store.Tx) error {
		said = nil
		for _, span := range inPart(p.Spans, part) {
			found, err := tx.Reflections().Range(ctx, reflection.Read{Conversation: span.Conversation,
				FromSeq: span.FromSeq,
				ToSeq:   span.ToSeq})
			if err != nil {
				return err
			}
			said = append(said, found...)
		}
		notes, err := tx.Reflections().NotesOf(ctx, p.Date, notesShown)
		for _, n := range notes {
			safe, finding := guard.Sanitize("note", n.ID, n.Content)
			if finding != nil {
				metrics.Blocked("note")
			}
			m.Notes = append(m.Notes, safe)
		}
		return err
	})
	if err != nil {
		return out, err
	}
	runes := messageRunes
	if short {
		runes = shortRunes
	}
	m.Messages = material(said, p.Spans, zone, runes, w.Spec.Limits.ResultChars)
	if out.System, err = prompt.Reflection(w.Spec.Lang, w.Spec.Budget.Max); err != nil {
		return out, err
	}
	user, err := prompt.User(m)
	out.Messages = llm.User(user)
	return out, err
}

// notesShown is the maximum number of notes of the day in a prompt.
const notesShown = 50

// material renders a part of the day under the indices that calls cite, without secrets and without
// recalled content.
func material(said []reflection.Message, spans []Span, zone *time.Location, runes,
	resultRunes int) (out []prompt.Message) {
	said = slices.DeleteFunc(said, func(m reflection.Message) bool { return !m.Human || m.Empty() })
	plain := make([]transcript.Message, len(said))
	for i, m := range said {
		plain[i] = forget(m.Message)
	}
	plain, _ = guard.NewRedactor(guard.Options{}).Messages(plain)
	var conversations []int64
	for i, m := range plain {
		where := said[i].Conversation
		if !slices.Contains(conversations, where) {
			conversations = append(conversations, where)
		}
		if m.Role != transcript.Tool {
			m.Content = transcript.Clip(m.Content, runes)
		}
		for _, one := range transcript.Material([]transcript.Message{m}, min(runes, resultRunes)) {
			one.Index = index(spans, where, m.Seq)
			one.Conversation = slices.Index(conversations, where) + 1
			one.At = said[i].Said.In(zone).Format("2006-01-02 15:04")
			one.Reviewed = said[i].Reviewed
			out = append(out, one)
		}
	}
	return out
}

// index returns the index under which a message is cited.
func index(spans []Span, conversation int64, seq int) int {
	for _, s := range spans {
		if s.Conversation == conversation && s.FromSeq <= seq && seq <= s.ToSeq {
			return s.First + seq - s.FromSeq
		}
	}
	return 0
}
