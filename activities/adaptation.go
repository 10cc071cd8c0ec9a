package activities

import (
	"context"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/live"
)

// AdaptService updates policies from live decisions.
type AdaptService interface {
	Open(ctx context.Context, ref run.Ref) (decisions int, over *live.AdaptationResult, err error)
	Adapt(ctx context.Context, ref run.Ref) (trials int, err error)
	PlayTrial(ctx context.Context, ref run.Ref, n int) error
	Close(ctx context.Context, ref run.Ref, code, reason string) (live.AdaptationResult, error)
}

// OpenAdapt claims a bank and the decisions for an update. It fails if another run holds the bank.
func (a MemorySkills) OpenAdapt(ctx context.Context, in contract.AdaptInput) (contract.OpenAdaptResult, error) {
	decisions, over, err := a.Updates.Open(ctx, in.Ref())
	return contract.OpenAdaptResult{Decisions: decisions, Ended: encoded(over, adaptResult)}, queueError(err)
}

// AdaptPolicy trains a policy with the decisions of an update.
func (a MemorySkills) AdaptPolicy(ctx context.Context, in contract.AdaptInput) (contract.AdaptPolicyResult, error) {
	defer heartbeat(ctx)()
	trials, err := a.Updates.Adapt(ctx, in.Ref())
	return contract.AdaptPolicyResult{Trials: trials}, temporalError(err)
}

// ShadowTrial runs a held-out conversation with both policies.
func (a MemorySkills) ShadowTrial(ctx context.Context, in contract.TrialInput) error {
	defer heartbeat(ctx)()
	return temporalError(a.Updates.PlayTrial(ctx, in.Ref(), in.Trial))
}

// CloseAdapt compares both policies and closes the update.
func (a MemorySkills) CloseAdapt(ctx context.Context, in contract.CloseInput) (contract.AdaptResult, error) {
	out, err := a.Updates.Close(ctx, in.Ref(), in.Code, in.Reason)
	return adaptResult(out), temporalError(err)
}

func adaptResult(a live.AdaptationResult) contract.AdaptResult {
	return contract.AdaptResult{Outcome: a.Outcome, Decisions: a.Decisions, Update: a.Update, Policy: a.Policy}
}
