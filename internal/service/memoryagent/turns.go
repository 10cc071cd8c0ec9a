package memoryagent

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	memories "cairn/internal/service/memory"
	"cairn/internal/service/search"
)

// Turn is a message of a stored conversation.
type Turn struct {
	ID           string     `json:"id"` // conversation#seq
	Conversation string     `json:"conversation"`
	Seq          int        `json:"seq"`
	Speaker      string     `json:"speaker,omitempty"`
	Content      string     `json:"content"`
	Score        float64    `json:"score"`
	Time         *time.Time `json:"time,omitempty"`
}

const (
	maxTurns = 5 // in an answer

	// turnsNote reports that the answer has turns instead of memories.
	turnsNote = "no memory matches; the turns come from stored conversations"
)

// turnFilter is the part of a question that limits its turns. The zero value limits nothing.
type turnFilter struct {
	Targets    []memory.Task `json:"targets,omitempty"`     // speakers
	TimeFilter string        `json:"time_filter,omitempty"` // see Question
	Max        int           `json:"max,omitempty"`         // 0 means maxTurns
	None       bool          `json:"none,omitempty"`        // the question is for certain types of memories
}

// turns returns the limits of the turns of a question.
func (q Question) turns() turnFilter {
	f := turnFilter{Targets: q.Targets, TimeFilter: q.TimeFilter, None: len(q.Choices.Types) > 0}
	if q.TopK < maxTurns {
		f.Max = q.TopK
	}
	return f
}

// orNil returns nil for a filter that limits nothing.
func (f turnFilter) orNil() *turnFilter {
	if len(f.Targets) == 0 && f.TimeFilter == "" && f.Max == 0 && !f.None {
		return nil
	}
	return &f
}

// withTurns adds matching turns of conversations to an answer without memories.
func (s *Service) withTurns(ctx context.Context, ws int64, query string, f turnFilter, a Answer) (Answer, error) {
	if a.Status != NoRelevant || len(a.Memories) > 0 || query == "" || f.None {
		return a, nil
	}
	look := search.Request{Query: query, Kinds: []string{index.KindTurn}, Limit: cmp.Or(f.Max, maxTurns)}
	for _, t := range f.Targets {
		if t.Target == "" { // all targets of a type
			return a, nil
		}
		look.Targets = append(look.Targets, t.Target)
	}
	var err error
	if look.After, look.Before, err = memories.Days(f.TimeFilter); err != nil {
		return a, err
	}
	// An answer without an agent has to be complete, even if ctx has ended.
	found, err := s.LongTerm.Finder.Find(context.WithoutCancel(ctx), ws, look)
	if err != nil {
		return a, fmt.Errorf("search conversations: %w", err)
	}
	for _, f := range found {
		a.Turns = append(a.Turns, Turn{ID: f.ID, Conversation: f.Conversation, Seq: f.FromSeq, Speaker: f.Target,
			Content: f.Text, Score: f.Score, Time: f.EventTime})
	}
	if len(a.Turns) > 0 {
		a.Note = strings.TrimPrefix(a.Note+"; "+turnsNote, "; ")
	}
	return a, nil
}
