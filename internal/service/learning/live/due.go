package live

import (
	"context"
	"crypto/sha256"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// AcceptDue judges the updates that are on canary. It then starts an update for each other bank
// with at least d.Least new live outcomes, if the workspace builds memories with memory skills. It
// returns the started runs. It skips frozen banks, and does nothing in a frozen workspace.
func (s *Adaptation) AcceptDue(ctx context.Context, d bank.Due) (started []run.Run, err error) {
	err = s.ports.Store.InWorkspace(ctx, d.Workspace, func(ctx context.Context, tx store.Tx) error {
		started = nil
		chosen, err := tx.Workspaces().Settings(ctx)
		if err != nil || chosen.Memory.Builder != settings.BuilderSkills || chosen.Memory.Learning.Frozen {
			return err
		}
		banks, err := tx.Banks().Banks(ctx)
		if err != nil {
			return err
		}
		for _, b := range banks {
			r, due, err := s.accept(ctx, tx, d, b)
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
		bank.StartRun(ctx, s.ports.Starter, d.WorkspaceKey, r)
	}
	return started, nil
}

// accept stores the update run of a bank if there are enough outcomes and no canary is running. The
// key of the run is the first unclaimed decision, so repeated calls return the same run until that
// decision is claimed.
func (s *Adaptation) accept(ctx context.Context, tx store.Tx, d bank.Due, b learning.BankSummary) (out run.Run,
	due bool,
	err error) {
	row, found, err := tx.Banks().BankNamed(ctx, b.Name)
	if err != nil || !found || row.Head == 0 || row.Frozen() {
		return out, false, err
	}
	if err := s.judgeCanary(ctx, tx, row); err != nil {
		return out, false, err
	}
	if row, err = tx.Banks().BankOf(ctx, row.ID); err != nil { // the default bank may just have been created
		return out, false, err
	}
	if u, open, err := tx.Updates().OpenUpdate(ctx, row.ID); err != nil || open && u.State == learning.OnCanary {
		return out, false, err
	}
	waiting, err := tx.Outcomes().Learnable(ctx, row.ID, row.Head-maxVersions, maxDecisions)
	if err != nil || len(waiting) < max(d.Least, 1) {
		return out, false, err
	}
	key := row.Name + "/" + waiting[0]
	before, found, err := tx.Runs().RunOf(ctx, run.Adapt, key)
	if err != nil || found && before.Status != run.Ended {
		return before, err == nil, err
	}
	spec := AdaptationSpec{RunSpec: d.Spec, Keeping: bank.DefaultSpanOptions(), Bank: row.Name, BankID: row.ID,
		Recipe: memoryskill.TargetRecipe, Score: bank.ByRecall}
	if err := bank.Complete(ctx, tx, &spec.Keeping, false); err != nil {
		return out, false, err
	}
	version, err := tx.Banks().BankVersion(ctx, row.ID, row.Head)
	if err != nil {
		return out, false, err
	}
	if spec.Model, err = spec.Model.WithInstructions(version.Prompts); err != nil {
		return out, false, err
	}
	generation := before.Generation + 1
	out, err = bank.AcceptRun(ctx, tx, run.NewAgentRun{Kind: run.Adapt, Key: key, Generation: generation,
		ArgsSHA:    sha256.Sum256([]byte(key)),
		WorkflowID: contract.AdaptID(d.WorkspaceKey, row.Name, contract.VisibleKey(key), generation)}, spec)
	return out, err == nil, err
}
