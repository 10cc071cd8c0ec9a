package conversation

import (
	"context"

	"cairn/internal/domain/nudge"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
)

// Store opens transactions.
type Store interface {
	WithConversations(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
	// in one round trip: somebody waits
	Answer(ctx context.Context, ws int64, conversation, message string) (TurnStatus, error)
}

// Tx is one workspace's conversations in one transaction.
type Tx interface {
	Conversations() Repository
	Turns() TurnRepository
	Transcripts() TranscriptRepository
	Runs() RunRepository
}

// Repository reads and writes conversations.
type Repository interface {
	// OpenConversation makes or finds a conversation and locks it, with the turn of
	// a message, if it has one, and what its workspace chose.
	OpenConversation(ctx context.Context, name, channel, title, message string) (agentrun.Conversation, *agentrun.Turn,
		settings.Settings, error)
	LockConversation(ctx context.Context, id int64) (agentrun.Conversation, error)
	SaveSequence(ctx context.Context, c agentrun.Conversation) error
	CloseConversation(ctx context.Context, conversation int64, c nudge.Counters, ended bool) error
}

// TurnRepository writes turns.
type TurnRepository interface {
	PutTurn(ctx context.Context, t agentrun.Turn, n agentrun.NewRun) (run.Run, error) // with its run
}

// TranscriptRepository writes messages.
type TranscriptRepository interface {
	// of a turn, after those that c has
	PutMessages(ctx context.Context, c agentrun.Conversation, turn int, ms []transcript.Message) error
	IndexSaid(ctx context.Context, c agentrun.Conversation, ms []transcript.Message) error
}

// RunRepository reads runs.
type RunRepository interface {
	Run(ctx context.Context, id int64) (run.Run, error)
}

// Ports are what the service works with.
type Ports struct {
	Store Store
}

// Service accepts messages and tells what became of them.
type Service struct{ Ports }

// New makes the service. A required port that is nil is an error.
func New(p Ports) (*Service, error) {
	err := ports.Require("conversation", map[string]any{"Store": p.Store})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

// Answer reads what became of a message.
func (s *Service) Answer(ctx context.Context, ws int64, conversation, message string) (TurnStatus, error) {
	return s.Store.Answer(ctx, ws, conversation, message)
}

// CloseConversation writes down where a conversation stands when its workflow
// ends. A review may have ended meanwhile, whose row knows more than the workflow.
func (s *Service) CloseConversation(ctx context.Context, ws, conversation int64, c nudge.Counters, byUser bool) error {
	return s.Store.WithConversations(ctx, ws, func(ctx context.Context, tx Tx) error {
		stored, err := tx.Conversations().LockConversation(ctx, conversation)
		if err != nil {
			return err
		}
		return tx.Conversations().CloseConversation(ctx, conversation, nudge.Join(c, stored.Counters), byUser)
	})
}
