// Package evolution changes banks by rounds of the designer: the cases that memory
// failed at are chosen, a model proposes edits, and the edited bank replaces the one in
// force when it is better on held-out conversations.
//
//	r, err := rounds.Accept(ctx, evolution.Request{…})
package evolution

import (
	"log/slog"

	"cairn/internal/domain/ports"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/design"
	"cairn/internal/service/learning/episode"
	"cairn/internal/service/learning/runspec"
)

// Ports are what the service needs.
type Ports struct {
	Store   Store
	Banks   *bank.Service
	Encoder bank.Encoder
	Asker   runspec.Asker
	Starter runspec.Starter
	Log     *slog.Logger
	Space   int16 // of the embedder's vectors
}

// Service runs rounds of evolution.
type Service struct {
	ports    Ports
	designer design.Designer
	player   episode.Player
}

// New returns a service. It refuses ports that are nil.
func New(p Ports) (*Service, error) {
	err := ports.Require("evolution", map[string]any{"Store": p.Store, "Banks": p.Banks,
		"Encoder.Embedder": p.Encoder.Embedder, "Asker": p.Asker,
		"Starter": p.Starter, "Log": p.Log})
	if err != nil {
		return nil, err
	}
	return &Service{p, design.Designer{Encoder: p.Encoder, Asker: p.Asker},
		episode.Player{Encoder: p.Encoder, Asker: p.Asker}}, nil
}
