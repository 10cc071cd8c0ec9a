package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

const (
	// unitsPerRun limits the history. An evaluation with more units continues as new.
	unitsPerRun = 100
	// unitPatience is how long a unit waits for its build or training.
	unitPatience = 30 * 24 * time.Hour
)

// Evaluate measures memory skills on a data set. Trainings come first, because some rows of the table
// need their banks. Builds and trainings are runs of their own, for which the evaluation waits. The
// results of all steps are in Postgres, so a restarted evaluation continues.
func Evaluate(ctx workflow.Context, in contract.EvaluateInput) (contract.EvaluateResult, error) {
	setDetails(ctx, "Opening the evaluation")
	opened, err := execute[contract.OpenEvaluationResult](
		ctx, databaseStep(in.Timeouts, "open the evaluation"), contract.OpenEvaluation, in)
	if opened.Ended != nil {
		return *opened.Ended, nil
	}
	for err == nil && in.From < opened.Units {
		end := min(in.From+unitsPerRun, opened.Units)
		if in.From < opened.Prepared {
			end = min(end, opened.Prepared)
		}
		setDetails(ctx, "Units %d to %d of %d", in.From+1, end, opened.Units)
		first := in.From
		err = atOnce(ctx, opened.Parallel, end-first, func(ctx workflow.Context, n int) error {
			return evaluateUnit(ctx, in, first+n)
		})
		in.From = end
		if err == nil && in.From < opened.Units {
			return contract.EvaluateResult{}, workflow.NewContinueAsNewError(ctx, contract.Evaluate, in)
		}
	}
	return closeRun[contract.CloseInput, contract.EvaluateResult](
		ctx, in.Timeouts, contract.CloseEvaluation, closeInput(in.RunRef, err), err)
}

// evaluateUnit carries out one unit: it starts its run, waits for its end, and asks its questions.
func evaluateUnit(ctx workflow.Context, in contract.EvaluateInput, n int) error {
	unit := contract.UnitInput{RunRef: in.RunRef, Unit: n}
	started, err := execute[contract.StartUnitResult](
		ctx, databaseStep(in.Timeouts, fmt.Sprintf("start unit %d", n+1)), contract.StartUnit, unit)
	if err == nil && started.Await {
		wait := polling(databaseStep(in.Timeouts, fmt.Sprintf("await unit %d", n+1)), unitPatience)
		err = perform(ctx, wait, contract.AwaitUnit, unit)
	}
	for group := 0; err == nil && group < started.Groups; group++ {
		options := batchStep(in.Timeouts, fmt.Sprintf("ask unit %d, group %d of %d", n+1, group+1, started.Groups))
		err = perform(ctx, options, contract.AskUnit, contract.AskUnitInput{UnitInput: unit, Group: group})
	}
	return err
}
