package trial

import (
	"context"
	"fmt"

	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/episode"
	"cairn/internal/service/learning/runspec"
)

// How a bank or a policy fared that was to replace the one in force.
const (
	Promoted  = "promoted"   // it is in force
	Rejected  = "rejected"   // it was not better
	Overtaken = "superseded" // the bank has moved on meanwhile
	Failed    = "failed"
)

// Comparison is a candidate beside what is in force, on held-out traces.
type Comparison struct {
	Result   *designer.Comparison // nil when it could not be told
	Outcomes episode.Outcomes
	Missing  string // what it could not be told without
}

// Compare compares a candidate with what is in force by the held-out traces that
// both were tried on.
func Compare(ctx context.Context, tx runspec.Tx, ref run.Ref, held int) (out Comparison, err error) {
	var candidate, incumbent []float64
	for n := range held {
		one, found, err := runspec.ReadStep[Result](ctx, tx, ref.Run, Step(n))
		if err != nil {
			return out, err
		}
		if !found {
			return out, fmt.Errorf("compare what run %d came to: trial %d has no result", ref.Run, n)
		}
		if out.Outcomes = out.Outcomes.Plus(one.Outcomes); one.Known {
			candidate, incumbent = append(candidate, one.Candidate), append(incumbent, one.Incumbent)
		}
	}
	switch o := out.Outcomes; {
	case held == 0:
		out.Missing = "no conversation with known answers is held out: import some with cairn train --traces"
	case len(candidate) == 0:
		out.Missing = "no held-out conversation could be scored with both: " +
			"cairn runs show tells what the endpoint says"
	case o.Useless():
		out.Missing = fmt.Sprintf("%d of %d outcomes on held-out conversations are masked, "+
			"since the endpoint failed: mend it and try again", o.Masked, o.Of)
	default:
		c, err := designer.DefaultGate().Compare(candidate, incumbent)
		out.Result = &c
		return out, err
	}
	return out, nil
}
