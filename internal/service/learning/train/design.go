package train

import (
	"context"
	"fmt"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/service/ledger"
)

// design runs a designer round in a training; the next stage judges its result. After a return to
// the best stage, the round uses the cases of that stage again. If the model returns nothing
// useful, the bank does not change.
func (s *Training) design(ctx context.Context, ref run.Ref, st stage, again []string, out *StageResult) error {
	failed := st.hard.among(again)
	if len(failed) == 0 {
		return nil
	}
	current, err := out.Bank.Bank()
	if err != nil {
		return err
	}
	mined, err := s.miner.Mine(ctx, failed, st.traces, st.recipe)
	if err != nil {
		return err
	}
	d := DesignInput{Ref: ref, Step: fmt.Sprintf("design/%04d", st.number), Model: st.spec.Model,
		Lang: DesignLanguage(mined), Recipe: st.recipe, Bank: current, Cases: mined, Failed: out.Failed,
		Stats: st.stats, RefineOnly: st.spec.RefineOnly}
	analysis, err := s.designer.Diagnose(ctx, d)
	if err == nil {
		var candidate *learning.BankCandidate
		if _, candidate, err = s.designer.Propose(ctx, d, analysis); err == nil && candidate != nil {
			out.Bank, out.Changed, out.Pending = *candidate, st.number+1, learning.DescribeCandidate(candidate)
			out.Progress = out.Progress.Evolved(out.Pending, caseKeys(failed, mined))
		}
	}
	if f, over := ledger.IsPermanent(err); over {
		out.Note = f.Error()
		return nil
	}
	return err
}

// caseKeys returns the keys of mined cases.
func caseKeys(failed []FailedCase, mined []learning.MinedCase) (keys []string) {
	for _, m := range mined {
		for _, c := range failed {
			if c.ID == m.Case {
				keys = append(keys, c.Key)
			}
		}
	}
	return keys
}
