package activities

import (
	"context"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/service/learning"
)

// OpenAdapt takes a bank and the decisions for an update, or says that another run
// has the bank.
func (a MemorySkills) OpenAdapt(ctx context.Context, in contract.AdaptInput) (out contract.AdaptOpened, err error) {
	decisions, over, err := a.Service.OpenAdapt(ctx, ref(in.RunRef))
	if fault.CodeOf(err) == fault.Unavailable { // its turn will come
		return out, benign(err, string(fault.Unavailable), 0)
	}
	if err == nil && over != nil {
		ended := adapted(*over)
		return contract.AdaptOpened{Ended: &ended}, nil
	}
	return contract.AdaptOpened{Decisions: decisions}, temporalError(err)
}

// AdaptPolicy learns from the decisions of an update.
func (a MemorySkills) AdaptPolicy(ctx context.Context, in contract.AdaptInput) (contract.PolicyAdapted, error) {
	defer beat(ctx)()
	trials, err := a.Service.AdaptPolicy(ctx, ref(in.RunRef))
	return contract.PolicyAdapted{Trials: trials}, temporalError(err)
}

// ShadowTrial plays a held-out conversation with both policies.
func (a MemorySkills) ShadowTrial(ctx context.Context, in contract.TrialInput) error {
	defer beat(ctx)()
	return temporalError(a.Service.ShadowTrial(ctx, ref(in.RunRef), in.Trial))
}

// CloseAdapt compares both policies and ends the update.
func (a MemorySkills) CloseAdapt(ctx context.Context, in contract.CloseInput) (contract.AdaptResult, error) {
	out, err := a.Service.CloseAdapt(ctx, ref(in.RunRef), in.Code, in.Reason)
	return adapted(out), temporalError(err)
}

func adapted(a learning.Adapted) contract.AdaptResult {
	return contract.AdaptResult{Outcome: a.Outcome, Decisions: a.Decisions, Update: a.Update, Policy: a.Policy}
}
