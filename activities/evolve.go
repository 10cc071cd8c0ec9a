package activities

import (
	"context"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/service/learning"
)

// OpenRound takes a bank for a round, or says that another has it.
func (a MemorySkills) OpenRound(ctx context.Context, in contract.EvolveInput) (out contract.RoundOpened, err error) {
	over, err := a.Service.OpenRound(ctx, ref(in.RunRef))
	if fault.CodeOf(err) == fault.Unavailable { // its turn will come
		return out, benign(err, string(fault.Unavailable), 0)
	}
	if err == nil && over != nil {
		ended := evolved(*over)
		out.Ended = &ended
	}
	return out, temporalError(err)
}

// MineRound chooses the cases of a round.
func (a MemorySkills) MineRound(ctx context.Context, in contract.EvolveInput) (contract.RoundMined, error) {
	defer beat(ctx)()
	n, err := a.Service.MineRound(ctx, ref(in.RunRef))
	return contract.RoundMined{Cases: n}, temporalError(err)
}

// DesignRound has edits proposed.
func (a MemorySkills) DesignRound(ctx context.Context, in contract.EvolveInput) (out contract.RoundDesigned, err error) {
	defer beat(ctx)()
	found, err := a.Service.DesignRound(ctx, ref(in.RunRef))
	if err == nil && found {
		out.Trials, err = a.Service.Trials(ctx, ref(in.RunRef))
	}
	return out, temporalError(err)
}

// Trial plays a held-out conversation with both banks.
func (a MemorySkills) Trial(ctx context.Context, in contract.TrialInput) error {
	defer beat(ctx)()
	return temporalError(a.Service.Trial(ctx, ref(in.RunRef), in.Trial))
}

// CloseRound compares both banks and ends the round.
func (a MemorySkills) CloseRound(ctx context.Context, in contract.CloseInput) (contract.EvolveResult, error) {
	r, err := a.Service.CloseRound(ctx, ref(in.RunRef), in.Code, in.Reason)
	return evolved(r), temporalError(err)
}

func evolved(r learning.Round) contract.EvolveResult {
	out := contract.EvolveResult{Outcome: r.Outcome, Cases: len(r.Mined)}
	if r.Comparison != nil {
		out.Traces, out.Mean = r.Comparison.Traces, r.Comparison.Mean
	}
	return out
}
