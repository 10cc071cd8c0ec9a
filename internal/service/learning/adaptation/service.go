// Package adaptation lets the policy of a bank learn from live decisions: an update is
// made from outcomes that are known, compared in the shadow on held-out conversations,
// tried on a share of live builds, and promoted when it is not worse.
//
//	runs, err := updates.AcceptDue(ctx, due) // judges canaries, and starts what is due
package adaptation

import (
	"errors"

	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/episode"
	"cairn/internal/service/learning/runspec"
)

// Ports are what the service needs.
type Ports struct {
	Store   Store
	Banks   *bank.Service
	Player  episode.Player
	Learner policy.Learner
	Starter runspec.Starter
}

// Service updates policies.
type Service struct{ ports Ports }

// New returns a service. It refuses ports that are nil.
func New(p Ports) (*Service, error) {
	if p.Store == nil || p.Banks == nil || p.Player.Asker == nil || p.Player.Encoder.Embedder == nil ||
		p.Learner == nil || p.Starter == nil {
		return nil, errors.New("updates of policies: a port is nil")
	}
	return &Service{p}, nil
}
