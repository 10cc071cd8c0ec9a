package live

import (
	"cairn/internal/domain/memoryskill/policy"
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

// NewAdaptation returns a service.
func NewAdaptation(p AdaptationPorts) *Adaptation {
	return &Adaptation{p}
}
