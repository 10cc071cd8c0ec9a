package inspect

import (
	"context"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	conversationservice "cairn/internal/service/conversation"
	"cairn/internal/store"
)

// ConversationDetail is a conversation with its reviews and live state.
type ConversationDetail struct {
	conversation.View
	WorkflowID string                     `json:"workflow_id,omitempty" doc:"Workflow of its turns; absent before the first turn"`
	Link       string                     `json:"link,omitempty" doc:"The workflow's page in Temporal UI"`
	Nudges     []conversation.ReviewView  `json:"nudges"` // latest first
	Outcomes   []transcript.Statement     `json:"outcomes" doc:"How it ended, as people state it; the latest first and counts"`
	Live       *contract.ConversationView `json:"live,omitempty"` // state of its workflow, nil if it is not running
}

const (
	// nudgesShown covers the reviews of two days under the default daily limit.
	nudgesShown = 24
	// livePatience limits the query to a running workflow. The other fields come from Postgres.
	livePatience = 2 * time.Second
)

// Workflows accesses the workflows of conversations.
type Workflows interface {
	// Runs reports whether the workflow of a conversation is running.
	Runs(ctx context.Context, workspaceKey string, conversation int64) (bool, error)
	// State queries the workflow of a conversation.
	State(ctx context.Context, workspaceKey string, conversation int64) (contract.ConversationView, error)
	// CancelTurn cancels a turn. The turn ends with a reply from the available results.
	CancelTurn(ctx context.Context, workspaceKey string, turn run.Run) error
	// EndRunning ends the workflow of a conversation. It returns false if the workflow is not running.
	EndRunning(ctx context.Context, workspaceKey string, conversation int64) (bool, error)
}

// ConversationPorts are the dependencies of Conversations.
type ConversationPorts struct {
	Store     *store.Store
	Workflows Workflows // nil without Temporal
	Closer    *conversationservice.Service
}

// Conversations reads, cancels and ends conversations.
type Conversations struct{ ConversationPorts }

// NewConversations returns a Conversations.
func NewConversations(p ConversationPorts) *Conversations {
	return &Conversations{ConversationPorts: p}
}

// Lines returns messages of a conversation after the given sequence number, in order.
func (s *Conversations) Lines(ctx context.Context, ws int64, name string, after, max int) (out []conversation.Line,
	err error) {
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, q store.Tx) error {
		v, err := q.ConversationViews().ConversationView(ctx, name)
		if err != nil {
			return err
		}
		out, err = q.ConversationViews().Lines(ctx, v.ID, after, max)
		return err
	})
	return out, err
}

// Sources reads the source messages of a skill version and the name of the last conversation among them.
func (s *Conversations) Sources(ctx context.Context, ws int64, of []skill.Source) (messages []transcript.Message,
	last string, err error) {
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, q store.Tx) error {
		for _, source := range of {
			c, err := q.Transcripts().Conversation(ctx, source.Conversation, source.From, source.To)
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

// runs reports whether the workflow of a conversation is running.
func (s *Conversations) runs(ctx context.Context, ws access.Workspace, id int64) (bool, error) {
	if s.Workflows == nil {
		return false, nil
	}
	return s.Workflows.Runs(ctx, ws.Key, id)
}

// Show returns a conversation with its reviews and, if its workflow is running, its live state. The
// workflow is queried first, so that everything it reports as ended is already in the rows.
func (s *Conversations) Show(ctx context.Context, ws access.Workspace, name string) (out ConversationDetail,
	err error) {
	id, err := s.Find(ctx, ws.ID, name)
	if err != nil {
		return out, err
	}
	out.Live = s.live(ctx, ws, id)
	err = s.Store.InWorkspace(ctx, ws.ID, func(ctx context.Context, q store.Tx) error {
		if out.View, err = q.ConversationViews().ConversationView(ctx, name); err != nil {
			return err
		}
		if out.Turns > 0 {
			out.WorkflowID = contract.ConversationID(ws.Key, out.View.ID)
		}
		if out.Outcomes, err = q.ConversationViews().Statements(ctx, out.View.ID); err != nil {
			return err
		}
		out.Nudges, err = q.ConversationViews().Reviews(ctx, out.View.ID, nudgesShown)
		return err
	})
	return out, err
}

// live returns the state of a conversation's workflow. It returns nil if the workflow is not
// running or does not respond, because the stored rows are sufficient.
func (s *Conversations) live(ctx context.Context, ws access.Workspace, id int64) *contract.ConversationView {
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

// Cancel cancels the turn of a message, running or queued. If message is empty, it cancels the
// running turn. It returns false if there is no such turn.
func (s *Conversations) Cancel(ctx context.Context, ws access.Workspace, name, message string) (asked bool,
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
	return s.cancelMessage(ctx, ws, id, live.Answers) // the row may show that it has ended
}

// cancelMessage cancels the turn of one message unless it has ended or was observed.
func (s *Conversations) cancelMessage(ctx context.Context, ws access.Workspace, conversation int64,
	message string) (bool, error) {
	var turn run.Run
	open := false
	err := s.Store.InWorkspace(ctx, ws.ID, func(ctx context.Context, q store.Tx) error {
		t, found, err := q.Turns().TurnOf(ctx, conversation, message)
		if err != nil || !found || t.Ended || t.Mode == contract.Observe {
			return err
		}
		open = true
		turn, err = q.Runs().Run(ctx, t.Run)
		return err
	})
	if err != nil || !open || s.Workflows == nil {
		return false, err
	}
	err = s.Workflows.CancelTurn(ctx, ws.Key, turn)
	return err == nil, err
}

// End ends a conversation. Unreviewed messages are reviewed if a review is due. The next message
// reopens it.
func (s *Conversations) End(ctx context.Context, ws access.Workspace, name string) (ConversationDetail, error) {
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
	if err := s.Closer.CloseConversation(ctx, contract.CloseConversationInput{Workspace: ws.ID, Conversation: id,
		Ended: true, Counters: v.Counters}); err != nil {
		return v, err
	}
	return s.Show(ctx, ws, name)
}

// Find returns the ID of a conversation.
func (s *Conversations) Find(ctx context.Context, ws int64, name string) (id int64, err error) {
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, q store.Tx) error {
		v, err := q.ConversationViews().ConversationView(ctx, name)
		id = v.ID
		return err
	})
	return id, err
}
