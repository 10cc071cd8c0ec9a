package memoryagent

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cairn/internal/service/longterm"
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
	mostTurns = 5 // in an answer

	// turnsNote reports that the answer has turns instead of memories.
	turnsNote = "no memory matches; the turns come from stored conversations"
)

// withTurns adds matching turns of conversations to an answer without memories. Targets of the question are speakers
// of turns. A question for certain types of memories gets no turns.
func (s *Service) withTurns(ctx context.Context, q Question, a Answer) (Answer, error) {
	if a.Status != NoRelevant || len(a.Memories) > 0 || q.Query == "" || len(q.Choices.Types) > 0 {
		return a, nil
	}
	look := search.Request{Query: q.Query, Kinds: []string{search.KindTurn}, Limit: min(mostTurns, q.TopK)}
	for _, t := range q.Targets {
		if t.Target == "" { // all targets of a type
			return a, nil
		}
		look.Targets = append(look.Targets, t.Target)
	}
	var err error
	if look.After, look.Before, err = longterm.Days(q.TimeFilter); err != nil {
		return a, err
	}
	found, err := s.LongTerm.Finder.Find(context.WithoutCancel(ctx), q.Workspace, look)
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
