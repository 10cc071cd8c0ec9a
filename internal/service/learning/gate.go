package learning

import (
	"context"
	"fmt"

	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/run"
)

// gated compares a candidate with what is in force by the held-out traces that
// both were tried on. Without a comparison, why says what is missing.
func gated(ctx context.Context, tx Tx, ref run.Ref, held int) (c *designer.Comparison, o Outcomes, why string, err error) {
	var candidate, incumbent []float64
	for n := range held {
		var one TrialResult
		found, err := tx.Training().Trained(ctx, ref.Run, trialStep(n), &one)
		if err != nil {
			return nil, o, "", err
		}
		if !found {
			return nil, o, "", fmt.Errorf("compare what run %d came to: trial %d has no result", ref.Run, n)
		}
		if o = o.plus(one.Outcomes); one.Known {
			candidate, incumbent = append(candidate, one.Candidate), append(incumbent, one.Incumbent)
		}
	}
	switch {
	case held == 0:
		return nil, o, "no conversation with known answers is held out: import some with cairn train --traces", nil
	case len(candidate) == 0:
		return nil, o, "no held-out conversation could be scored with both: cairn runs show tells what the endpoint says", nil
	case o.Useless():
		return nil, o, fmt.Sprintf("%d of %d outcomes on held-out conversations are masked, since the endpoint failed: mend it and try again", o.Masked, o.Of), nil
	}
	of, err := designer.DefaultGate().Compare(candidate, incumbent)
	return &of, o, "", err
}
