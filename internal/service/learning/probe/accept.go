package probe

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/learning/decision"
	"cairn/internal/service/learning/extraction"
	"cairn/internal/service/learning/runspec"
	"cairn/internal/service/memoryagent"
)

// Spec is what the probing of a build is pinned to.
type Spec struct {
	runspec.Spec
	Lang   string `json:"lang"`
	Bank   string `json:"bank"`
	BankID int64  `json:"bank_id"`
	Build  int64  `json:"build"` // run whose decisions are probed
	TopN   int    `json:"top_n"` // memories that a question is answered from, at most
}

// perDay is how many probes a workspace lets memory make in 24 hours: none where
// nothing can be learnt of them.
func perDay(chosen settings.Settings) int {
	l := chosen.Memory.Learning
	if chosen.Memory.Builder != settings.BuilderSkills || l.Frozen || l.ExplorePerDay == 0 {
		return 0
	}
	return l.ProbesPerDay
}

// Accept makes a probing durable when a build has ended and the day has room for
// one. It is a run of its own: a build does not wait for it, nor fail with it.
func (s *Service) Accept(ctx context.Context, tx Tx, build run.Run, spec extraction.Spec,
	made []decision.Decision) error {
	chosen, err := tx.Workspace().Settings(ctx)
	if err != nil || perDay(chosen) == 0 || !slices.ContainsFunc(made, decision.Decision.Answered) {
		return err
	}
	if err := tx.Probes().LockProbes(ctx); err != nil {
		return err
	}
	spent, err := tx.Probes().ProbesSpent(ctx)
	if err != nil || spent >= perDay(chosen) {
		return err
	}
	key := fmt.Sprintf("build/%d", build.Ref.Run)
	self, err := tx.Workspace().WorkspaceKey(ctx)
	if err != nil {
		return err
	}
	_, err = runspec.Accept(ctx, tx, memoryagent.NewRun{Kind: run.Probe, Key: key, Generation: 1,
		ArgsSHA: sha256.Sum256([]byte(key)), Conversation: build.Conversation,
		WorkflowID: contract.ProbeID(self, build.Ref.Run)},
		Spec{Spec: spec.Spec, Lang: spec.Lang, Bank: spec.Bank, BankID: spec.BankID, Build: build.Ref.Run,
			TopN: spec.Keeping.TopN})
	return err
}
