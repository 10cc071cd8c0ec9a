package conversation

import (
	"context"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
)

// Store opens transactions.
type Store interface {
	WithConversations(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
	// Answer reads the status of a turn in one round trip, because callers wait for it.
	Answer(ctx context.Context, ws int64, conversation, message string) (conversation.TurnStatus, error)
}

// Tx accesses the conversations of one workspace in one transaction.
type Tx interface {
	Conversations() Repository
	Turns() TurnRepository
	Transcripts() TranscriptRepository
	Runs() RunRepository
}

// Repository reads and writes conversations.
type Repository interface {
	// OpenConversation creates or finds a conversation and locks it. It also returns the turn of
	// the message, nil if it has none, and the settings of the workspace.
	OpenConversation(ctx context.Context, name, channel, title, message string) (conversation.Conversation,
		*conversation.Turn,
		settings.Settings, error)
	LockConversation(ctx context.Context, id int64) (conversation.Conversation, error)
	SaveSequence(ctx context.Context, c conversation.Conversation) error
	CloseConversation(ctx context.Context, conversation int64, c nudge.Counters, ended bool) error
}

// TurnRepository writes turns.
type TurnRepository interface {
	PutTurn(ctx context.Context, t conversation.Turn, n run.NewRun) (run.Run, error) // also stores its run
	PutImported(ctx context.Context, t conversation.Turn) error                      // it has ended, and has no run
	PutHistory(ctx context.Context, t conversation.Turn, h conversation.History) error
}

// TranscriptRepository writes messages.
type TranscriptRepository interface {
	// PutMessages appends messages of a turn to the conversation.
	PutMessages(ctx context.Context, c conversation.Conversation, turn int, ms []transcript.Message) error
	// PutAttachments stores the images and recordings of messages that have their Seq.
	PutAttachments(ctx context.Context, conversation int64, turn int, ms []transcript.Message) error
	IndexSaid(ctx context.Context, c conversation.Conversation, ms []transcript.Message) error
}

// RunRepository reads runs.
type RunRepository interface {
	Run(ctx context.Context, id string) (run.Run, error)
}

// Ports are the dependencies of the service.
type Ports struct {
	Store Store
}

// Service accepts messages and returns their status.
type Service struct{ Ports }

// New returns a Service. It fails if a required port is nil.
func New(p Ports) (*Service, error) {
	err := ports.Require("conversation", map[string]any{"Store": p.Store})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

// Answer returns the status of a message.
func (s *Service) Answer(ctx context.Context, ws int64, conversation, message string) (conversation.TurnStatus, error) {
	return s.Store.Answer(ctx, ws, conversation, message)
}

// CloseConversation stores the counters of a conversation when its workflow ends. They are joined
// with the stored ones, because a review may have ended in the meantime.
func (s *Service) CloseConversation(ctx context.Context, ws, conversation int64, c nudge.Counters, byUser bool) error {
	return s.Store.WithConversations(ctx, ws, func(ctx context.Context, tx Tx) error {
		stored, err := tx.Conversations().LockConversation(ctx, conversation)
		if err != nil {
			return err
		}
		return tx.Conversations().CloseConversation(ctx, conversation, nudge.Join(c, stored.Counters), byUser)
	})
}
