package learning

import (
	"context"
	"log/slog"

	"cairn/internal/domain/run"
	"cairn/internal/service/ledger"
	"cairn/internal/service/longterm"
)

// Neighbour is a stored memory that is near to a span.
type Neighbour struct {
	ID      string
	Content string
	Vector  []float32
}

// Store opens transactions.
type Store interface {
	WithEvolve(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

// Embedder turns texts into vectors.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Dims() int
}

// Starter brings runs to Temporal.
type Starter interface {
	Start(ctx context.Context, workspaceKey, channel string, r run.Run) error
}

// Service is the use-case.
type Service struct {
	Store    Store
	LongTerm *longterm.Service
	Ledger   *ledger.Ledger
	Embedder Embedder
	Space    int16
	Starter  Starter      // nil without Temporal
	Log      *slog.Logger // of what needs a look; nil is none
}

// start saves the wait for the relay, which starts what this could not.
func (s *Service) start(ctx context.Context, workspaceKey string, r run.Run) {
	if s.Starter != nil && r.Status != run.Ended {
		_ = s.Starter.Start(ctx, workspaceKey, "import", r) // the relay notes what is wrong
	}
}
