package live

import (
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/ports"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// AdaptationPorts are the dependencies of the service.
type AdaptationPorts struct {
	Store      *store.Store
	Banks      *bank.Service
	Player     bank.EpisodePlayer
	Controller policy.Controller
	Starter    bank.Starter
}

// Adaptation updates the policy of a bank from live decisions. An update learns from known
// outcomes and is compared in the shadow on held-out conversations. If it is not worse, it runs as
// a canary on a share of live builds, and is then promoted.
//
//	runs, err := updates.AcceptDue(ctx, due) // judges canaries and starts due updates
type Adaptation struct{ ports AdaptationPorts }

// NewAdaptation returns a service. It returns an error if a port is nil.
func NewAdaptation(p AdaptationPorts) (*Adaptation, error) {
	err := ports.Require("adaptation", map[string]any{"Store": p.Store, "Banks": p.Banks,
		"Player.Asker":            p.Player.Asker,
		"Player.Encoder.Embedder": p.Player.Encoder.Embedder, "Controller": p.Controller, "Starter": p.Starter})
	if err != nil {
		return nil, err
	}
	return &Adaptation{p}, nil
}
