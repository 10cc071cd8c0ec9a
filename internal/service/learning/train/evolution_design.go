package train

import (
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
)

// Design analyzes the cases and proposes edits. It returns the number of held-out conversations for
// the candidate, or 0 if there is no candidate.
func (s *Evolution) Design(ctx context.Context, ref run.Ref) (trials int, err error) {
	found, err := s.propose(ctx, ref)
	if err != nil || !found {
		return 0, err
	}
	_, spec, _, err := s.read(ctx, ref, nil)
	return len(spec.Held), err
}

// propose stores a candidate, unless an earlier attempt has. It returns false if there is no
// candidate.
func (s *Evolution) propose(ctx context.Context, ref run.Ref) (found bool, err error) {
	var failed []string
	var stats map[string]memoryskill.Stats
	r, spec, head, err := s.read(ctx, ref, func(tx store.Tx, _ EvolutionSpec, h bank.Head) error {
		earlier, err := tx.Rounds().Rounds(ctx, h.ID, 50)
		for _, e := range earlier {
			if e.Outcome == learning.Rejected && e.Candidate != nil {
				failed = append(failed, learning.DescribeCandidate(e.Candidate))
			}
		}
		if err == nil {
			stats, err = tx.Banks().SkillStats(ctx, h.ID)
		}
		return err
	})
	if err != nil || r.Outcome != "" || r.Candidate != nil {
		return r.Candidate != nil, err
	}
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return false, err
	}
	d := DesignInput{Ref: ref, Step: "design", Model: spec.Model, Lang: DesignLanguage(r.Cases), Recipe: recipe,
		Bank: head.Bank, Cases: r.Cases, Failed: failed, Stats: stats}
	if r.Analysis, err = s.designer.Diagnose(ctx, d); err == nil {
		r.Proposal, r.Candidate, err = s.designer.Propose(ctx, d, r.Analysis)
	}
	if f, over := ledger.IsPermanent(err); over {
		r.Outcome, r.Note = Failed, f.Error()
	} else if err != nil {
		return false, err
	}
	return r.Candidate != nil, s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context,
		tx store.Tx) error {
		if err := s.ports.Banks.HoldLease(ctx, tx, ref, spec.Bank); err != nil {
			return err
		}
		return tx.Rounds().SaveRound(ctx, r)
	})
}
