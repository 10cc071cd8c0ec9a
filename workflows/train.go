package workflows

import (
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Train has a policy learn, and the bank beside it: stage after stage, each a
// child, each stage in a history of its own. What was best comes into force when it
// is better than what is, on held-out conversations. What every step came to is in
// Postgres, so a training that is started again goes on where it was.
func Train(ctx workflow.Context, in contract.TrainInput) (contract.TrainResult, error) {
	setDetails(ctx, "Taking the bank")
	opened, err := execute[contract.OpenTrainingResult](
		ctx, databaseStep(in.Timeouts, "take the bank"), contract.OpenTraining, in)
	if opened.Ended != nil {
		return *opened.Ended, nil
	}
	if err == nil {
		setDetails(ctx, "Stage %d of %d", in.FromStage+1, opened.Stages)
		var stage contract.StageResult
		stage, err = runStage(ctx, contract.StageInput{TrainInput: in, Stage: in.FromStage, Of: opened})
		if err == nil && !stage.Stop {
			in.FromStage++
			return contract.TrainResult{}, workflow.NewContinueAsNewError(ctx, contract.Train, in)
		}
	}
	if err == nil {
		setDetails(ctx, "Trying what was trained on %d conversations", opened.Trials)
		err = runTrials(ctx, in.RunRef, in.Timeouts, contract.TrainTrial, opened.Trials)
	}
	return closeRun[contract.CloseInput, contract.TrainResult](
		ctx, in.Timeouts, contract.CloseTraining, closeInput(in.RunRef, err), err)
}

func runStage(ctx workflow.Context, in contract.StageInput) (out contract.StageResult, err error) {
	child := trainingPart(ctx, stageID(in), fmt.Sprintf("stage %d of %d", in.Stage+1, in.Of.Stages))
	err = workflow.ExecuteChildWorkflow(child, contract.TrainStage, in).Get(ctx, &out)
	return out, err
}

func stageID(in contract.StageInput) string {
	return fmt.Sprintf("%s/stage-%d", in.WorkflowID, in.Stage+1)
}

// trainingPart is a child of a training: it ends with it, and can be run again, for
// what it has done it finds in Postgres.
func trainingPart(ctx workflow.Context, id, summary string) workflow.Context {
	return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_TERMINATE,
		WaitForCancellation:   true,
		StaticSummary:         summary,
		TypedSearchAttributes: attributes(ctx, "train"),
	})
}
