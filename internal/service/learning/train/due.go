package train

import (
	"context"

	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// AcceptDue starts a round for each bank with enough new cases, if the workspace builds memories
// with memory skills. It returns the started runs. It skips frozen banks and those with an open
// round. In a frozen workspace it does nothing.
func (s *Evolution) AcceptDue(ctx context.Context, d bank.Due) (started []run.Run, err error) {
	var due []string
	err = s.ports.Store.InWorkspace(ctx, d.Workspace, func(ctx context.Context, tx store.Tx) error {
		due = nil
		chosen, err := tx.Workspaces().Settings(ctx)
		if err != nil || chosen.Memory.Builder != settings.BuilderSkills || chosen.Memory.Learning.Frozen {
			return err
		}
		banks, err := tx.Banks().Banks(ctx)
		if err != nil {
			return err
		}
		for _, b := range banks {
			n, err := newFailures(ctx, tx, b.Name)
			if err != nil {
				return err
			}
			if n >= max(d.Least, 1) {
				due = append(due, b.Name)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, name := range due {
		r, err := s.Accept(ctx, EvolutionRequest{Workspace: d.Workspace, WorkspaceKey: d.WorkspaceKey,
			EvolutionSpec: EvolutionSpec{RunSpec: d.Spec, Bank: name, Due: true}})
		if bank.IsFrozen(err) { // meanwhile
			continue
		}
		if err != nil {
			return started, err
		}
		started = append(started, r)
	}
	return started, nil
}

// newFailures returns the number of open cases of a bank that failed since its last round, or 0
// while that round is open or the bank is frozen.
func newFailures(ctx context.Context, tx store.Tx, name string) (n int, err error) {
	row, found, err := tx.Banks().BankNamed(ctx, name)
	if err != nil || !found || row.Head == 0 || row.Frozen() {
		return 0, err
	}
	rounds, err := tx.Rounds().Rounds(ctx, row.ID, 1)
	if err != nil {
		return 0, err
	}
	failed, err := bank.Open(ctx, tx, row.ID, maxCases)
	if err != nil || len(rounds) == 0 {
		return len(failed), err
	}
	last, err := tx.Runs().Run(ctx, rounds[0].Run)
	if err != nil || last.Status != run.Ended {
		return 0, err
	}
	for _, c := range failed {
		if c.FailedAt.After(rounds[0].CreatedAt) {
			n++
		}
	}
	return n, nil
}
