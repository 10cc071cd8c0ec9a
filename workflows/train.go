package workflows

import (
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Train trains a policy and improves its bank, stage by stage. Each stage is a child workflow with
// its own history. The best snapshot becomes active if it is better than the active one on held-out
// conversations. The results of all steps are in Postgres, so a restarted training continues.
func Train(ctx workflow.Context, in contract.TrainInput) (contract.TrainResult, error) {
	setDetails(ctx, "Claiming the bank")
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
		setDetails(ctx, "Trying the trained snapshot on %d conversations", opened.Trials)
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

// trainingPart returns the context of a training's child. The child ends with its parent. It can be
// run again, because it finds its results in Postgres.
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
