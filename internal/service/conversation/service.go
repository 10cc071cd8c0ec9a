package conversation

import (
	"context"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/nudge"
	"cairn/internal/store"
)

// Ports are the dependencies of the service.
type Ports struct {
	Store store.Conversations
}

// Service accepts messages and returns their status.
type Service struct{ Ports }

// New returns a Service.
func New(p Ports) *Service {
	return &Service{Ports: p}
}

// Answer returns the status of a message.
func (s *Service) Answer(ctx context.Context, ws int64, conversation, message string) (conversation.TurnStatus, error) {
	return s.Store.Answer(ctx, ws, conversation, message)
}

// CloseConversation stores the counters of a conversation when its workflow ends. They are joined
// with the stored ones, because a review may have ended in the meantime.
func (s *Service) CloseConversation(ctx context.Context, in contract.CloseConversationInput) error {
	return s.Store.InWorkspaceByKeys(ctx, in.Workspace, func(ctx context.Context, tx store.Tx) error {
		stored, err := tx.Conversations().LockConversation(ctx, in.Conversation)
		if err != nil {
			return err
		}
		return tx.Conversations().CloseConversation(ctx, in.Conversation, nudge.Join(in.Counters, stored.Counters),
			in.Ended)
	})
}
