package activities

import (
	"context"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning"
)

// EvolveService has banks designed anew.
type EvolveService interface {
	OpenRound(ctx context.Context, ref run.Ref) (over *learning.Round, err error)
	MineRound(ctx context.Context, ref run.Ref) (cases int, err error)
	DesignRound(ctx context.Context, ref run.Ref) (found bool, err error)
	Trials(ctx context.Context, ref run.Ref) (int, error)
	Trial(ctx context.Context, ref run.Ref, n int) error
	CloseRound(ctx context.Context, ref run.Ref, code, reason string) (learning.Round, error)
}

// OpenRound takes a bank for a round, or says that another has it.
func (a MemorySkills) OpenRound(ctx context.Context, in contract.EvolveInput) (contract.OpenRoundResult, error) {
	over, err := a.Service.OpenRound(ctx, ref(in.RunRef))
	return contract.OpenRoundResult{Ended: encoded(over, evolveResult)}, queueError(err)
}

// MineRound chooses the cases of a round.
func (a MemorySkills) MineRound(ctx context.Context, in contract.EvolveInput) (contract.MineRoundResult, error) {
	defer heartbeat(ctx)()
	n, err := a.Service.MineRound(ctx, ref(in.RunRef))
	return contract.MineRoundResult{Cases: n}, temporalError(err)
}

// DesignRound has edits proposed.
func (a MemorySkills) DesignRound(
	ctx context.Context, in contract.EvolveInput,
) (out contract.DesignRoundResult, err error) {
	defer heartbeat(ctx)()
	found, err := a.Service.DesignRound(ctx, ref(in.RunRef))
	if err == nil && found {
		out.Trials, err = a.Service.Trials(ctx, ref(in.RunRef))
	}
	return out, temporalError(err)
}

// Trial plays a held-out conversation with both banks.
func (a MemorySkills) Trial(ctx context.Context, in contract.TrialInput) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.Trial(ctx, ref(in.RunRef), in.Trial))
}

// CloseRound compares both banks and ends the round.
func (a MemorySkills) CloseRound(ctx context.Context, in contract.CloseInput) (contract.EvolveResult, error) {
	r, err := a.Service.CloseRound(ctx, ref(in.RunRef), in.Code, in.Reason)
	return evolveResult(r), temporalError(err)
}

func evolveResult(r learning.Round) contract.EvolveResult {
	out := contract.EvolveResult{Outcome: r.Outcome, Cases: len(r.Mined)}
	if r.Comparison != nil {
		out.Traces, out.Mean = r.Comparison.Traces, r.Comparison.Mean
	}
	return out
}
