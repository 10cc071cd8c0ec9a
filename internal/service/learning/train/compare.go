package train

import (
	"context"
	"fmt"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Outcomes of a candidate.
const (
	NotEnough = "not_enough_evidence" // too few results to decide
	Overtaken = "superseded"          // the bank has a newer version
	Failed    = "failed"
)

// TrialVerdict is the result of the gate.
type TrialVerdict struct {
	Outcome  string               // Promoted if the candidate passes, else Rejected or NotEnough
	Result   *learning.Comparison // nil if there is nothing to compare
	Outcomes learning.EpisodeOutcomes
	Note     string // reason why the candidate does not pass
}

// JudgeTrial compares a candidate with the other sides, on the held-out traces that all were tried on.
func JudgeTrial(ctx context.Context, tx store.Tx, ref run.Ref, held int) (out TrialVerdict, err error) {
	var candidate, incumbent, all, fixed []float64
	for n := range held {
		one, found, err := bank.ReadStep[TrialResult](ctx, tx, ref.Run, TrialStep(n))
		if err != nil {
			return out, err
		}
		if !found {
			return out, fmt.Errorf("compare the versions of run %s: trial %d has no result", ref.Run, n)
		}
		if out.Outcomes = out.Outcomes.Plus(one.Outcomes); one.Known {
			candidate, incumbent = append(candidate, one.Candidate), append(incumbent, one.Incumbent)
			all, fixed = append(all, one.All), append(fixed, one.Fixed)
		}
	}
	out.Outcome = NotEnough
	switch o := out.Outcomes; {
	case held == 0:
		out.Note = "no held-out conversation has known answers: import some with cairn train --traces"
		return out, nil
	case len(candidate) == 0:
		out.Note = "no held-out conversation could be scored with all sides: " +
			"run cairn runs show for the errors of the model endpoint"
		return out, nil
	case o.Useless():
		out.Note = fmt.Sprintf("%d of %d outcomes on held-out conversations are masked, "+
			"because the endpoint failed: fix it and try again", o.Masked, o.Of)
		return out, nil
	}
	if out.Result, err = compare(candidate, incumbent, all, fixed); err != nil {
		return out, err
	}
	if n := len(candidate); n < designer.MinTraces {
		out.Result.Promote = false
		out.Note = fmt.Sprintf("%d held-out conversations with known answers, at least %d are needed; every third "+
			"conversation is held out: import more with cairn train --traces", n, designer.MinTraces)
		return out, nil
	}
	out.Outcome, out.Note = out.Result.Verdict()
	return out, nil
}

// compare compares the scores of a candidate with those of the other sides.
func compare(candidate, incumbent, all, fixed []float64) (out *learning.Comparison, err error) {
	out = new(learning.Comparison)
	for into, scores := range map[*designer.Comparison][]float64{&out.Comparison: incumbent, &out.All: all,
		&out.Fixed: fixed} {
		if *into, err = designer.PromotionGate().Compare(candidate, scores); err != nil {
			return nil, err
		}
	}
	return out, nil
}
