package learning

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/memoryagent"
)

// AdaptSpec is what an update of a policy is pinned to. What it learns from, and the
// version that it begins on, are pinned when it takes the bank.
type AdaptSpec struct {
	Spec
	Keeping SpanOptions `json:"keeping"`
	Bank    string      `json:"bank"`
	BankID  int64       `json:"bank_id"`
	Recipe  string      `json:"recipe"`
	Score   string      `json:"score"`
}

const (
	// mostVersions is how many versions of the bank may have come since a decision
	// for an update to learn from it: its probabilities say little of a policy that
	// has moved on further.
	mostVersions = 2
	// FewestLearnt decisions make an update: fewer have hardly a mean to be measured
	// against.
	FewestLearnt = 16
	// mostLearnt bounds one update, the oldest decisions first.
	mostLearnt = 1024
)

// AdaptDue judges the updates that are on canary, and starts one for each other bank
// about whose live decisions at least d.Least outcomes are known that nothing was
// learnt from, where memory skills build the memories. It lists what it started. In a
// frozen workspace it does nothing.
func (s *Service) AdaptDue(ctx context.Context, d Due) (started []run.Run, err error) {
	err = s.Store.WithEvolve(ctx, d.Workspace, func(ctx context.Context, tx Tx) error {
		started = nil
		chosen, err := tx.Workspace().Settings(ctx)
		if err != nil || chosen.Memory.Builder != settings.BuilderSkills || chosen.Memory.Learning.Frozen {
			return err
		}
		banks, err := tx.Banks().Banks(ctx)
		if err != nil {
			return err
		}
		for _, b := range banks {
			r, due, err := s.acceptAdapt(ctx, tx, d, b)
			if err != nil {
				return err
			}
			if due {
				started = append(started, r)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, r := range started {
		s.start(ctx, d.WorkspaceKey, r)
	}
	return started, nil
}

// acceptAdapt makes the update of a bank durable when there is enough to learn from
// and none is on canary. Its key is the first decision that waits: the same update
// until that is taken.
func (s *Service) acceptAdapt(ctx context.Context, tx Tx, d Due, b BankSummary) (out run.Run, due bool, err error) {
	row, found, err := tx.Banks().BankNamed(ctx, b.Name)
	if err != nil || !found || row.Head == 0 {
		return out, false, err
	}
	if err := s.judgeCanary(ctx, tx, row); err != nil {
		return out, false, err
	}
	if row, err = tx.Banks().BankOf(ctx, row.ID); err != nil { // it may have come into force
		return out, false, err
	}
	if u, open, err := tx.Updates().OpenUpdate(ctx, row.ID); err != nil || open && u.State == OnCanary {
		return out, false, err
	}
	waiting, err := tx.Outcomes().Learnable(ctx, row.ID, row.Head-mostVersions, mostLearnt)
	if err != nil || len(waiting) < max(d.Least, 1) {
		return out, false, err
	}
	key := row.Name + "/" + waiting[0]
	before, found, err := tx.Runs().RunOf(ctx, run.Adapt, key)
	if err != nil || found && before.Status != run.Ended {
		return before, err == nil, err
	}
	spec := AdaptSpec{Spec: d.Spec, Keeping: DefaultKeeping(), Bank: row.Name, BankID: row.ID, Recipe: memoryskill.TargetRecipe, Score: ByRecall}
	if spec.Keeping.Mode, err = cutting(ctx, tx, spec.Keeping.Mode); err != nil {
		return out, false, err
	}
	if spec.Model, err = spec.Model.instructed(); err != nil {
		return out, false, err
	}
	raw, err := json.Marshal(spec)
	if err != nil {
		return out, false, fmt.Errorf("encode the configuration: %w", err)
	}
	out, err = tx.Runs().PutAgentRun(ctx, memoryagent.NewRun{Kind: run.Adapt, Key: key, Generation: before.Generation + 1, ArgsSHA: sha256.Sum256([]byte(key)), Spec: raw,
		WorkflowID: contract.AdaptID(d.WorkspaceKey, row.Name, contract.VisibleKey(key), before.Generation+1)})
	if err != nil {
		return out, false, err
	}
	return out, true, tx.Runs().EnqueueRun(ctx, out.Ref.Run)
}
