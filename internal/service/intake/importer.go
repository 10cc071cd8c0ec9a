package intake

import (
	"context"
	"errors"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
)

// Store runs functions in transactions of a workspace.
type Store interface {
	WithImports(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

// Tx accesses the conversations of one workspace in one transaction.
type Tx interface{ Transcripts() TranscriptRepository }

// TranscriptRepository stores conversations.
type TranscriptRepository interface {
	// PutConversation stores a complete conversation and returns its ID. A conversation with this
	// ID must have the same messages.
	PutConversation(ctx context.Context, c transcript.Conversation, channel string) (int64, error)
}

// Ports are what an Importer needs.
type Ports struct{ Store Store }

// Importer stores conversations of files. It is safe for concurrent use.
type Importer struct{ Ports }

// New returns an Importer.
func New(p Ports) (*Importer, error) {
	if p.Store == nil {
		return nil, errors.New("intake: Store is required")
	}
	return &Importer{p}, nil
}

// importChannel is the channel of conversations that were read from files.
const importChannel = "import"

// Import stores conversations, each in a transaction. A conversation that is already stored stays as
// it is, so that a repeated import stores nothing twice.
func (i *Importer) Import(ctx context.Context, ws int64, conversations []transcript.Conversation) error {
	for _, c := range conversations {
		if c.ID == "" || len(c.Messages) == 0 {
			return fault.New(fault.InvalidArgument, "a conversation without ID or messages", "read it from a file")
		}
		err := i.Store.WithImports(ctx, ws, func(ctx context.Context, tx Tx) error {
			_, err := tx.Transcripts().PutConversation(ctx, c, importChannel)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
