package train

import (
	"log/slog"

	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Ports are the dependencies of the service.
type Ports struct {
	bank.Extensions
	Store   *store.Store
	Banks   *bank.Service
	Encoder bank.Encoder
	Asker   bank.Asker
	Starter bank.Starter
	Log     *slog.Logger
	Space   int16 // embedding space of the vectors
}

// Evolution changes banks in rounds. A round selects hard cases, and a model proposes
// edits. The edited bank replaces the active one if it is better on held-out conversations.
//
//	r, err := rounds.Accept(ctx, train.EvolutionRequest{…})
type Evolution struct {
	ports    Ports
	miner    Designer
	designer designer.Designer
	player   bank.EpisodePlayer
}

// NewEvolution returns a service.
func NewEvolution(p Ports) *Evolution {
	s := &Evolution{ports: p, miner: Designer{Encoder: p.Encoder, Asker: p.Asker}, designer: p.Designer,
		player: bank.EpisodePlayer{Encoder: p.Encoder, Asker: p.Asker, Executor: p.Executor, Judge: p.Judge}}
	if s.designer == nil {
		s.designer = s.miner
	}
	return s
}
