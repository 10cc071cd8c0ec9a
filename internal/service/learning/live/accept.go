package live

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// ProbeSpec is the pinned configuration of a probing run.
type ProbeSpec struct {
	bank.RunSpec
	Lang   string `json:"lang"`
	Bank   string `json:"bank"`
	BankID int64  `json:"bank_id"`
	Build  string `json:"build"` // run whose decisions are probed
	TopN   int    `json:"top_n"` // maximum number of memories per question
}

// perDay returns the maximum number of probes per 24 hours. It is 0 if the workspace does not learn
// from outcomes.
func perDay(chosen settings.Settings) int {
	l := chosen.Memory.Learning
	if chosen.Memory.Builder != settings.BuilderSkills || l.Frozen || l.ExplorePerDay == 0 {
		return 0
	}
	return l.ProbesPerDay
}

// Accept stores a probing run after a build has ended, if the daily limit allows it and the bank is
// not frozen. The build neither waits for the run nor fails with it.
func (s *Probes) Accept(ctx context.Context, tx store.Tx, build run.Run, spec bank.ExtractionSpec,
	made []learning.Decision) error {
	chosen, err := tx.Workspaces().Settings(ctx)
	if err != nil || perDay(chosen) == 0 || !slices.ContainsFunc(made, learning.Decision.Answered) {
		return err
	}
	if row, err := tx.Banks().BankOf(ctx, spec.BankID); err != nil || row.Frozen() {
		return err
	}
	if err := tx.Probes().LockProbes(ctx); err != nil {
		return err
	}
	spent, err := tx.Probes().ProbesSpent(ctx)
	if err != nil || spent >= perDay(chosen) {
		return err
	}
	key := fmt.Sprintf("build/%s", build.Ref.Run)
	self, err := tx.Workspaces().WorkspaceKey(ctx)
	if err != nil {
		return err
	}
	_, err = bank.AcceptRun(ctx, tx, run.NewAgentRun{Kind: run.Probe, Key: key, Generation: 1,
		ArgsSHA: sha256.Sum256([]byte(key)), Conversation: build.Conversation,
		WorkflowID: contract.ProbeID(self, build.Ref.Run)},
		ProbeSpec{RunSpec: spec.RunSpec, Lang: spec.Lang, Bank: spec.Bank, BankID: spec.BankID, Build: build.Ref.Run,
			TopN: spec.Keeping.TopN})
	return err
}
