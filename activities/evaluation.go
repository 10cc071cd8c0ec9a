package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/evaluation"
)

// EvaluationService measures memory skills.
type EvaluationService interface {
	Open(ctx context.Context, ref run.Ref) (evaluation.Size, *evaluation.Result, error)
	StartUnit(ctx context.Context, ref run.Ref, unit int) (evaluation.Left, error)
	AwaitUnit(ctx context.Context, ref run.Ref, unit int) error
	Ask(ctx context.Context, ref run.Ref, unit, group int) error
	Close(ctx context.Context, ref run.Ref, code, reason string) (evaluation.Result, error)
}

// Evaluations are the activities of evaluations.
type Evaluations struct{ Service EvaluationService }

// RegisterMain registers the database steps with w.
func (a Evaluations) RegisterMain(w worker.ActivityRegistry) {
	register(w, contract.OpenEvaluation, a.OpenEvaluation)
	register(w, contract.StartUnit, a.StartUnit)
	register(w, contract.AwaitUnit, a.AwaitUnit)
	register(w, contract.CloseEvaluation, a.CloseEvaluation)
}

// RegisterBatch registers the step that makes model calls.
func (a Evaluations) RegisterBatch(w worker.ActivityRegistry) {
	register(w, contract.AskUnit, a.AskUnit)
}

// OpenEvaluation marks an evaluation as started.
func (a Evaluations) OpenEvaluation(ctx context.Context, in contract.EvaluateInput) (contract.OpenEvaluationResult,
	error) {
	size, over, err := a.Service.Open(ctx, ref(in.RunRef))
	return contract.OpenEvaluationResult{Units: size.Units, Prepared: size.Prepared, Parallel: size.Parallel,
		Ended: encoded(over, evaluateResult)}, temporalError(err)
}

// StartUnit starts the run of a unit.
func (a Evaluations) StartUnit(ctx context.Context, in contract.UnitInput) (contract.StartUnitResult, error) {
	left, err := a.Service.StartUnit(ctx, ref(in.RunRef), in.Unit)
	return contract.StartUnitResult{Await: left.Await, Groups: left.Groups}, temporalError(err)
}

// AwaitUnit returns when the run of a unit has ended. It fails before, to be tried again.
func (a Evaluations) AwaitUnit(ctx context.Context, in contract.UnitInput) error {
	return queueError(a.Service.AwaitUnit(ctx, ref(in.RunRef), in.Unit))
}

// AskUnit asks one group of a unit's questions.
func (a Evaluations) AskUnit(ctx context.Context, in contract.AskUnitInput) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.Ask(ctx, ref(in.RunRef), in.Unit, in.Group))
}

// CloseEvaluation computes the table and ends the evaluation.
func (a Evaluations) CloseEvaluation(ctx context.Context, in contract.CloseInput) (contract.EvaluateResult, error) {
	out, err := a.Service.Close(ctx, ref(in.RunRef), in.Code, in.Reason)
	return evaluateResult(out), temporalError(err)
}

func evaluateResult(r evaluation.Result) contract.EvaluateResult {
	return contract.EvaluateResult{Outcome: string(r.Outcome), Rows: len(r.Rows)}
}
