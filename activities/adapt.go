package activities

import (
	"context"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning"
)

// AdaptService lets policies learn from live decisions.
type AdaptService interface {
	OpenAdapt(ctx context.Context, ref run.Ref) (decisions int, over *learning.Adapted, err error)
	AdaptPolicy(ctx context.Context, ref run.Ref) (trials int, err error)
	ShadowTrial(ctx context.Context, ref run.Ref, n int) error
	CloseAdapt(ctx context.Context, ref run.Ref, code, reason string) (learning.Adapted, error)
}

// OpenAdapt takes a bank and the decisions for an update, or says that another run
// has the bank.
func (a MemorySkills) OpenAdapt(ctx context.Context, in contract.AdaptInput) (contract.OpenAdaptResult, error) {
	decisions, over, err := a.Service.OpenAdapt(ctx, ref(in.RunRef))
	return contract.OpenAdaptResult{Decisions: decisions, Ended: encoded(over, adaptResult)}, queueError(err)
}

// AdaptPolicy learns from the decisions of an update.
func (a MemorySkills) AdaptPolicy(ctx context.Context, in contract.AdaptInput) (contract.AdaptPolicyResult, error) {
	defer heartbeat(ctx)()
	trials, err := a.Service.AdaptPolicy(ctx, ref(in.RunRef))
	return contract.AdaptPolicyResult{Trials: trials}, temporalError(err)
}

// ShadowTrial plays a held-out conversation with both policies.
func (a MemorySkills) ShadowTrial(ctx context.Context, in contract.TrialInput) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.ShadowTrial(ctx, ref(in.RunRef), in.Trial))
}

// CloseAdapt compares both policies and ends the update.
func (a MemorySkills) CloseAdapt(ctx context.Context, in contract.CloseInput) (contract.AdaptResult, error) {
	out, err := a.Service.CloseAdapt(ctx, ref(in.RunRef), in.Code, in.Reason)
	return adaptResult(out), temporalError(err)
}

func adaptResult(a learning.Adapted) contract.AdaptResult {
	return contract.AdaptResult{Outcome: a.Outcome, Decisions: a.Decisions, Update: a.Update, Policy: a.Policy}
}
