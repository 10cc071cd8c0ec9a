package inspect

import (
	"context"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/tenancy"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/conversation"
)

// ConversationDetail is a conversation as it is looked at.
type ConversationDetail struct {
	conversation.View
	Nudges []conversation.ReviewView  `json:"nudges"`         // the latest first
	Live   *contract.ConversationView `json:"live,omitempty"` // what its workflow knows, while it runs
}

const (
	// nudgesShown are as many as two days can bring under the usual cap.
	nudgesShown = 24
	// livePatience bounds the question to a workflow that runs: the rest of the
	// answer is in Postgres.
	livePatience = 2 * time.Second
)

// Workflows are those of conversations.
type Workflows interface {
	// Runs tells whether a conversation's workflow runs.
	Runs(ctx context.Context, workspaceKey string, conversation int64) (bool, error)
	// State asks a conversation that runs for what it knows.
	State(ctx context.Context, workspaceKey string, conversation int64) (contract.ConversationView, error)
	// CancelTurn asks a conversation to answer a turn with what is there.
	CancelTurn(ctx context.Context, workspaceKey string, turn run.Run) error
	// EndRunning tells a conversation that runs to end; it is false for one that does
	// not run.
	EndRunning(ctx context.Context, workspaceKey string, conversation int64) (bool, error)
}

// Closer closes a conversation whose workflow does not run.
type Closer interface {
	CloseConversation(ctx context.Context, ws, conversation int64, seen nudge.Counters, review bool) error
}

// ConversationPorts are what the view of conversations works with.
type ConversationPorts struct {
	Store     ConversationStore
	Workflows Workflows // nil without Temporal
	Closer    Closer
}

// Conversations shows conversations, and stops what they do.
type Conversations struct{ ConversationPorts }

// NewConversations makes the view of conversations. A required port that is nil is an error.
func NewConversations(p ConversationPorts) (*Conversations, error) {
	err := ports.Require("inspect conversations", map[string]any{"Store": p.Store, "Closer": p.Closer})
	if err != nil {
		return nil, err
	}
	return &Conversations{ConversationPorts: p}, nil
}

// List is a page of conversations before one of them, the latest first.
func (s *Conversations) List(ctx context.Context, ws, before int64, max int) (out []conversation.View, err error) {
	err = s.Store.ReadConversations(ctx, ws, func(ctx context.Context, q ConversationTx) error {
		out, err = q.Conversations(ctx, before, max)
		return err
	})
	return out, err
}

// Lines are messages of a conversation after one of them, in the order in which they
// were said.
func (s *Conversations) Lines(ctx context.Context, ws int64, name string, after, max int) (out []conversation.Line,
	err error) {
	err = s.Store.ReadConversations(ctx, ws, func(ctx context.Context, q ConversationTx) error {
		v, err := q.ConversationView(ctx, name)
		if err != nil {
			return err
		}
		out, err = q.Lines(ctx, v.ID, after, max)
		return err
	})
	return out, err
}

// Sources reads the messages that a version of a skill rests on, and the name of the
// last conversation among them.
func (s *Conversations) Sources(ctx context.Context, ws int64, of []skill.Source) (messages []transcript.Message,
	last string, err error) {
	err = s.Store.ReadConversations(ctx, ws, func(ctx context.Context, q ConversationTx) error {
		for _, source := range of {
			c, err := q.Conversation(ctx, source.Conversation, source.From, source.To)
			if err != nil {
				return err
			}
			last = c.ID
			messages = append(messages, c.Messages...)
		}
		return nil
	})
	return messages, last, err
}

// runs tells whether a conversation's workflow runs.
func (s *Conversations) runs(ctx context.Context, ws tenancy.Workspace, id int64) (bool, error) {
	if s.Workflows == nil {
		return false, nil
	}
	return s.Workflows.Runs(ctx, ws.Key, id)
}

// Show reads a conversation with its reviews and, while it runs,
// what its workflow knows. The workflow is asked first: of what it knows to have
// ended, the rows tell.
func (s *Conversations) Show(ctx context.Context, ws tenancy.Workspace, name string) (out ConversationDetail,
	err error) {
	id, err := s.Find(ctx, ws.ID, name)
	if err != nil {
		return out, err
	}
	out.Live = s.live(ctx, ws, id)
	err = s.Store.ReadConversations(ctx, ws.ID, func(ctx context.Context, q ConversationTx) error {
		if out.View, err = q.ConversationView(ctx, name); err != nil {
			return err
		}
		out.Nudges, err = q.Reviews(ctx, out.View.ID, nudgesShown)
		return err
	})
	return out, err
}

// live is what the workflow of a conversation knows, nil when it does not run or
// does not answer: what is stored is the truth.
func (s *Conversations) live(ctx context.Context, ws tenancy.Workspace, id int64) *contract.ConversationView {
	ctx, cancel := context.WithTimeout(ctx, livePatience)
	defer cancel()
	if running, err := s.runs(ctx, ws, id); err != nil || !running {
		return nil
	}
	live, err := s.Workflows.State(ctx, ws.Key, id)
	if err != nil {
		return nil
	}
	return &live
}

// Cancel asks a conversation to answer with what is there: the turn of a
// message, whether it is being answered or still waits, or without one whichever
// is being answered. It is false when none can be.
func (s *Conversations) Cancel(ctx context.Context, ws tenancy.Workspace, name, message string) (asked bool,
	err error) {
	id, err := s.Find(ctx, ws.ID, name)
	if err != nil {
		return false, err
	}
	if message != "" {
		return s.cancelMessage(ctx, ws, id, message)
	}
	if running, err := s.runs(ctx, ws, id); err != nil || !running {
		return false, err
	}
	live, err := s.Workflows.State(ctx, ws.Key, id)
	if err != nil {
		return false, err
	}
	if live.Answers == "" {
		return false, nil
	}
	return s.cancelMessage(ctx, ws, id, live.Answers) // which its row may know to have ended
}

// cancelMessage cancels the turn of one message unless it has ended, or was only
// observed.
func (s *Conversations) cancelMessage(ctx context.Context, ws tenancy.Workspace, conversation int64,
	message string) (bool, error) {
	var turn run.Run
	open := false
	err := s.Store.ReadConversations(ctx, ws.ID, func(ctx context.Context, q ConversationTx) error {
		t, found, err := q.TurnOf(ctx, conversation, message)
		if err != nil || !found || t.Ended || t.Mode == contract.Observe {
			return err
		}
		open = true
		turn, err = q.Run(ctx, t.Run)
		return err
	})
	if err != nil || !open || s.Workflows == nil {
		return false, err
	}
	err = s.Workflows.CancelTurn(ctx, ws.Key, turn)
	return err == nil, err
}

// End ends a conversation: what was not reviewed is, when it is
// worth it. The next message begins it again.
func (s *Conversations) End(ctx context.Context, ws tenancy.Workspace, name string) (ConversationDetail, error) {
	id, err := s.Find(ctx, ws.ID, name)
	if err != nil {
		return ConversationDetail{}, err
	}
	ends := false
	if s.Workflows != nil {
		if ends, err = s.Workflows.EndRunning(ctx, ws.Key, id); err != nil {
			return ConversationDetail{}, err
		}
	}
	v, err := s.Show(ctx, ws, name)
	if err != nil || ends || v.ClosedAt != nil {
		return v, err
	}
	if err := s.Closer.CloseConversation(ctx, ws.ID, id, v.Counters, true); err != nil {
		return v, err
	}
	return s.Show(ctx, ws, name)
}

// Find is the number of a conversation.
func (s *Conversations) Find(ctx context.Context, ws int64, name string) (id int64, err error) {
	err = s.Store.ReadConversations(ctx, ws, func(ctx context.Context, q ConversationTx) error {
		v, err := q.ConversationView(ctx, name)
		id = v.ID
		return err
	})
	return id, err
}
