package evolve

import (
	"context"
	"fmt"

	"cairn/internal/memskill"
	"cairn/internal/memskill/controller"
	"cairn/internal/memskill/designer"
	"cairn/internal/memskill/random"
	"cairn/internal/run"
)

// Tried is a held-out trace with both sides.
type Tried struct {
	Conversation int64    `json:"conversation"`
	Incumbent    float64  `json:"incumbent"`
	Candidate    float64  `json:"candidate"`
	Known        bool     `json:"known"`
	Outcomes     Outcomes `json:"outcomes,omitzero"` // of both
}

func trialStep(n int) string { return fmt.Sprintf("trial/%04d", n) }

// side is a bank with the policy that chooses from it.
type side struct {
	bank   memskill.Bank
	policy controller.Policy
}

// try plays a held-out trace with both sides, greedily.
func (s *Service) try(ctx context.Context, p playing, t Trace, incumbent, candidate side) (Tried, error) {
	out := Tried{Conversation: t.Conversation}
	both := [2]Played{}
	step := p.step
	p.choose = func(span int) controller.Choice {
		return controller.Choice{K: p.keeping.K, Greedy: true, Key: random.Key{Span: span}}
	}
	for i, of := range []side{incumbent, candidate} {
		p.step = fmt.Sprintf("%s/%d", step, i)
		ready, err := s.player(ctx, p, of.bank, of.policy, nil)
		if err != nil {
			return out, err
		}
		if both[i], err = ready.play(ctx, t); err != nil {
			return out, err
		}
		out.Outcomes = out.Outcomes.plus(both[i].outcomes())
	}
	out.Incumbent, out.Candidate, out.Known = paired(both[0].Asked, both[1].Asked)
	return out, nil
}

// paired are the mean scores of two episodes on one trace, over the questions that
// both have scored: what an outage took from one is not held against the other.
func paired(a, b []Asked) (ofA, ofB float64, known bool) {
	n := 0.0
	for i := range min(len(a), len(b)) {
		if a[i].Scored && b[i].Scored {
			ofA, ofB, n = ofA+a[i].Score, ofB+b[i].Score, n+1
		}
	}
	return ofA / max(1, n), ofB / max(1, n), n > 0
}

// gated compares a candidate with what is in force by the held-out traces that
// both were tried on. Without a comparison, why says what is missing.
func gated(ctx context.Context, tx Tx, ref run.Ref, held int) (c *designer.Comparison, o Outcomes, why string, err error) {
	var candidate, incumbent []float64
	for n := range held {
		var one Tried
		found, err := tx.Trained(ctx, ref.Run, trialStep(n), &one)
		if err != nil {
			return nil, o, "", err
		}
		if !found { // a worker of an earlier release drove the run: it knows no trials
			return nil, o, "the held-out conversations were not tried: begin again", nil
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
