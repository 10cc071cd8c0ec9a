package activities

import (
	"context"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
)

// EvolveService runs rounds of the designer.
type EvolveService interface {
	Open(ctx context.Context, ref run.Ref) (over *learning.Round, err error)
	Mine(ctx context.Context, ref run.Ref) (cases int, err error)
	Design(ctx context.Context, ref run.Ref) (trials int, err error)
	PlayTrial(ctx context.Context, ref run.Ref, n int) error
	Close(ctx context.Context, ref run.Ref, code, reason string) (learning.Round, error)
}

// OpenRound claims a bank for a round. It fails if another run holds it.
func (a MemorySkills) OpenRound(ctx context.Context, in contract.EvolveInput) (contract.OpenRoundResult, error) {
	over, err := a.Rounds.Open(ctx, in.Ref())
	return contract.OpenRoundResult{Ended: encoded(over, evolveResult)}, queueError(err)
}

// MineRound selects the cases of a round.
func (a MemorySkills) MineRound(ctx context.Context, in contract.EvolveInput) (contract.MineRoundResult, error) {
	defer heartbeat(ctx)()
	n, err := a.Rounds.Mine(ctx, in.Ref())
	return contract.MineRoundResult{Cases: n}, temporalError(err)
}

// DesignRound proposes edits of the bank.
func (a MemorySkills) DesignRound(
	ctx context.Context, in contract.EvolveInput,
) (out contract.DesignRoundResult, err error) {
	defer heartbeat(ctx)()
	out.Trials, err = a.Rounds.Design(ctx, in.Ref())
	return out, temporalError(err)
}

// Trial runs a held-out conversation with both banks.
func (a MemorySkills) Trial(ctx context.Context, in contract.TrialInput) error {
	defer heartbeat(ctx)()
	return temporalError(a.Rounds.PlayTrial(ctx, in.Ref(), in.Trial))
}

// CloseRound compares both banks and closes the round.
func (a MemorySkills) CloseRound(ctx context.Context, in contract.CloseInput) (contract.EvolveResult, error) {
	r, err := a.Rounds.Close(ctx, in.Ref(), in.Code, in.Reason)
	return evolveResult(r), temporalError(err)
}

func evolveResult(r learning.Round) contract.EvolveResult {
	out := contract.EvolveResult{Outcome: r.Outcome, Cases: len(r.Cases)}
	if r.Comparison != nil {
		out.Traces, out.Mean = r.Comparison.Traces, r.Comparison.Mean
	}
	return out
}
