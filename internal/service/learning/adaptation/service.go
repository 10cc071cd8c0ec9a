// Package adaptation updates the policy of a bank from live decisions. An update learns from known
// outcomes and is compared in the shadow on held-out conversations. If it is not worse, it runs as
// a canary on a share of live builds, and is then promoted.
//
//	runs, err := updates.AcceptDue(ctx, due) // judges canaries and starts due updates
package adaptation

import (
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/ports"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/episode"
	"cairn/internal/service/learning/runspec"
	"cairn/internal/store"
)

// Ports are the dependencies of the service.
type Ports struct {
	Store      *store.Store
	Banks      *bank.Service
	Player     episode.Player
	Controller policy.Controller
	Starter    runspec.Starter
}

// Service updates policies.
type Service struct{ ports Ports }

// New returns a service. It returns an error if a port is nil.
func New(p Ports) (*Service, error) {
	err := ports.Require("adaptation", map[string]any{"Store": p.Store, "Banks": p.Banks,
		"Player.Asker":            p.Player.Asker,
		"Player.Encoder.Embedder": p.Player.Encoder.Embedder, "Controller": p.Controller, "Starter": p.Starter})
	if err != nil {
		return nil, err
	}
	return &Service{p}, nil
}
