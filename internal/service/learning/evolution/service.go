// Package evolution changes banks by rounds of the designer: the cases that memory
// failed at are chosen, a model proposes edits, and the edited bank replaces the one in
// force when it is better on held-out conversations.
//
//	r, err := rounds.Accept(ctx, evolution.Request{…})
package evolution

import (
	"errors"
	"log/slog"

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
	if p.Store == nil || p.Banks == nil || p.Encoder.Embedder == nil || p.Asker == nil || p.Starter == nil ||
		p.Log == nil {
		return nil, errors.New("evolution of banks: a port is nil")
	}
	return &Service{p, design.Designer{Encoder: p.Encoder, Asker: p.Asker},
		episode.Player{Encoder: p.Encoder, Asker: p.Asker}}, nil
}
