package inspect

import (
	"context"
	"fmt"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
)

// Ports are the dependencies of the service.
type Ports struct{ Store store.Explorer }

// Service reads.
type Service struct{ Ports }

// New returns a Service.
func New(p Ports) *Service {
	return &Service{Ports: p}
}

const (
	listRunes = 400  // of a text in a list
	partRunes = 8000 // of a text of a run
)

// Excerpt is a part of a conversation that is evidence.
type Excerpt struct {
	Conversation string          `json:"conversation"`
	From         int             `json:"from_seq" doc:"First message"`
	To           int             `json:"to_seq" doc:"Last message"`
	Messages     []SourceMessage `json:"messages" doc:"The first messages, shortened"`
}

// SourceMessage is a message of an excerpt.
type SourceMessage struct {
	Seq  int             `json:"seq"`
	Role transcript.Role `json:"role"`
	Text string          `json:"text"`
}

const (
	maxExcerpts   = 20
	excerptLines  = 12
	messageLength = 600
)

// Evidence reads the beginnings of parts of conversations. It omits those that were erased.
func (s *Service) Evidence(ctx context.Context, ws int64, sources []skill.Source) ([]Excerpt, error) {
	out := []Excerpt{}
	for _, from := range sources[:min(len(sources), maxExcerpts)] {
		c, err := s.Store.Excerpt(ctx, ws, from.Conversation, from.From, min(from.To, from.From+excerptLines-1))
		if fault.CodeOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		e := Excerpt{Conversation: c.ID, From: from.From, To: from.To, Messages: []SourceMessage{}}
		for _, m := range c.Messages {
			text := m.Content
			for _, call := range m.ToolCalls {
				text += fmt.Sprintf("\n%s(%s)", call.Name, call.Arguments)
			}
			e.Messages = append(
				e.Messages,
				SourceMessage{m.Seq, m.Role, transcript.Clip(strings.TrimSpace(text), messageLength)},
			)
		}
		out = append(out, e)
	}
	return out, nil
}

// EvidenceOf is Evidence for the evidence of a memory, which may be nil.
func (s *Service) EvidenceOf(ctx context.Context, ws int64, e *memory.Evidence) ([]Excerpt, error) {
	if e == nil {
		return []Excerpt{}, nil
	}
	return s.Evidence(ctx, ws, []skill.Source{{Conversation: e.Conversation, From: e.FromSeq, To: e.ToSeq}})
}
