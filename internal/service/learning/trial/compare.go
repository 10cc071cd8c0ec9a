package trial

import (
	"context"
	"fmt"

	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/episode"
	"cairn/internal/service/learning/runspec"
)

// Outcomes of a candidate.
const (
	Promoted  = "promoted"   // the candidate is active
	Rejected  = "rejected"   // the candidate was not better
	Overtaken = "superseded" // the bank has a newer version
	Failed    = "failed"
)

// Comparison compares a candidate with the active version on held-out traces.
type Comparison struct {
	Result   *designer.Comparison // nil if they cannot be compared
	Outcomes episode.Outcomes
	Missing  string // reason why they cannot be compared
}

// Compare compares a candidate with the active version, on the held-out traces that both were tried
// on.
func Compare(ctx context.Context, tx runspec.Tx, ref run.Ref, held int) (out Comparison, err error) {
	var candidate, incumbent []float64
	for n := range held {
		one, found, err := runspec.ReadStep[Result](ctx, tx, ref.Run, Step(n))
		if err != nil {
			return out, err
		}
		if !found {
			return out, fmt.Errorf("compare the versions of run %s: trial %d has no result", ref.Run, n)
		}
		if out.Outcomes = out.Outcomes.Plus(one.Outcomes); one.Known {
			candidate, incumbent = append(candidate, one.Candidate), append(incumbent, one.Incumbent)
		}
	}
	switch o := out.Outcomes; {
	case held == 0:
		out.Missing = "no held-out conversation has known answers: import some with cairn train --traces"
	case len(candidate) == 0:
		out.Missing = "no held-out conversation could be scored with both: " +
			"run cairn runs show for the errors of the model endpoint"
	case o.Useless():
		out.Missing = fmt.Sprintf("%d of %d outcomes on held-out conversations are masked, "+
			"because the endpoint failed: fix it and try again", o.Masked, o.Of)
	default:
		c, err := designer.DefaultGate().Compare(candidate, incumbent)
		out.Result = &c
		return out, err
	}
	return out, nil
}
