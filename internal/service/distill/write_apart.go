package distill

import (
	"context"

	"cairn/internal/domain/skill"
	"cairn/internal/service/ledger"
)

// writeApart writes the files of a part in one call each, because one reply does not hold all of them. Each file
// has its own key in the ledger, so a repeated step finds the files that are paid for.
func (s *Service) writeApart(ctx context.Context, j job, t Task, p part) (degraded bool, err error) {
	for _, planned := range p.plan {
		one := part{kind: p.kind, plan: []skill.FilePlan{planned}, step: p.step + "/" + planned.File}
		err := s.ask(ctx, j, j.writing(t, one))
		f, over := ledger.IsPermanent(err)
		if !over {
			if err != nil {
				return false, err
			}
			continue
		}
		degraded = true
		missing := []WrittenFile{{Name: planned.File, Reason: f.Error()}}
		err = s.Store.Within(ctx, t.Ref.Workspace, func(ctx context.Context, tx Tx) error {
			return tx.Drafts().SaveWritten(ctx, t, p.kind, missing)
		})
		if err != nil {
			return false, err
		}
	}
	return degraded, nil
}
