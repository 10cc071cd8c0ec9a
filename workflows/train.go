package workflows

import (
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Train has a policy learn, and the bank beside it: stage after stage, each a
// child, each stage in a history of its own. What was best comes into force when it
// is better than what is, on held-out conversations. What every step came to is in
// Postgres, so a training that is started again goes on where it was.
func Train(ctx workflow.Context, in contract.TrainInput) (contract.TrainResult, error) {
	story := newStory(ctx)
	story.tell("Taking the bank")
	of, err := openTraining(ctx, in)
	if err != nil {
		return closeTraining(ctx, in, err)
	}
	if of.Ended != nil {
		return *of.Ended, nil
	}
	story.tell(fmt.Sprintf("Stage %d of %d", in.From+1, of.Stages))
	stage, err := runStage(ctx, contract.StageInput{TrainInput: in, Stage: in.From, Of: of})
	if err != nil {
		return closeTraining(ctx, in, err)
	}
	if !stage.Stop {
		in.From++
		return contract.TrainResult{}, workflow.NewContinueAsNewError(ctx, contract.Train, in)
	}
	story.tell(fmt.Sprintf("Trying what was trained on %d conversations", of.Trials))
	return closeTraining(ctx, in, try(ctx, in.RunRef, in.Pace, contract.TrainTrial, of.Trials))
}

// iterationsPerRun bounds the history of a stage.
const iterationsPerRun = 50

// TrainStage runs the iterations of a stage on one bank, and closes it.
func TrainStage(ctx workflow.Context, in contract.StageInput) (out contract.StageResult, err error) {
	story := newStory(ctx)
	for i := in.From; i < in.Of.Iterations; i++ {
		if i-in.From == iterationsPerRun {
			in.From = i
			return out, workflow.NewContinueAsNewError(ctx, contract.TrainStage, in)
		}
		story.tell(fmt.Sprintf("Iteration %d of %d", i+1, in.Of.Iterations))
		if err := runIteration(ctx, contract.IterationInput{StageInput: in, Iteration: i}); err != nil {
			return out, err
		}
	}
	story.tell("Closing the stage")
	ctx = batch(ctx, in.Pace, "close the stage")
	err = workflow.ExecuteActivity(ctx, contract.CloseStage, in).Get(ctx, &out)
	return out, err
}

// TrainIteration plays its episodes, some at once, and learns from them in their
// order: how many workers there are changes nothing.
func TrainIteration(ctx workflow.Context, in contract.IterationInput) (out contract.IterationResult, err error) {
	slots := workflow.NewSemaphore(ctx, int64(max(1, in.Of.Parallel)))
	group := workflow.NewWaitGroup(ctx)
	failed := make([]error, in.Of.Episodes)
	for e := range in.Of.Episodes {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			if failed[e] = slots.Acquire(ctx, 1); failed[e] != nil {
				return
			}
			defer slots.Release(1)
			failed[e] = runEpisode(ctx, contract.EpisodeInput{IterationInput: in, Episode: e})
		})
	}
	group.Wait(ctx)
	for _, err := range failed {
		if err != nil {
			return out, err
		}
	}
	ctx = batch(ctx, in.Pace, "learn")
	err = workflow.ExecuteActivity(ctx, contract.Learn, in).Get(ctx, &out)
	return out, err
}

// TrainEpisode remembers one trace from nothing and asks about it.
func TrainEpisode(ctx workflow.Context, in contract.EpisodeInput) error {
	ctx = batch(ctx, in.Pace, "play an episode")
	return workflow.ExecuteActivity(ctx, contract.PlayEpisode, in).Get(ctx, nil)
}

func runStage(ctx workflow.Context, in contract.StageInput) (out contract.StageResult, err error) {
	in.From = 0
	ctx = part(ctx, fmt.Sprintf("%s/stage-%d", in.WorkflowID, in.Stage+1), fmt.Sprintf("stage %d of %d", in.Stage+1, in.Of.Stages))
	err = workflow.ExecuteChildWorkflow(ctx, contract.TrainStage, in).Get(ctx, &out)
	return out, err
}

func runIteration(ctx workflow.Context, in contract.IterationInput) error {
	ctx = part(ctx, fmt.Sprintf("%s/stage-%d/iteration-%d", in.WorkflowID, in.Stage+1, in.Iteration+1), fmt.Sprintf("iteration %d of %d", in.Iteration+1, in.Of.Iterations))
	return workflow.ExecuteChildWorkflow(ctx, contract.TrainIteration, in).Get(ctx, nil)
}

func runEpisode(ctx workflow.Context, in contract.EpisodeInput) error {
	ctx = part(ctx, fmt.Sprintf("%s/stage-%d/iteration-%d/episode-%d", in.WorkflowID, in.Stage+1, in.Iteration+1, in.Episode+1), fmt.Sprintf("episode %d of %d", in.Episode+1, in.Of.Episodes))
	return workflow.ExecuteChildWorkflow(ctx, contract.TrainEpisode, in).Get(ctx, nil)
}

// part is a child of a training: it ends with it, and can be run again, for what
// it has done it finds in Postgres.
func part(ctx workflow.Context, id, summary string) workflow.Context {
	return workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: id, WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, ParentClosePolicy: enums.PARENT_CLOSE_POLICY_TERMINATE, WaitForCancellation: true,
		StaticSummary: summary, TypedSearchAttributes: attributes(ctx, "train"),
	})
}

// batch is a step that computes for long, or asks a model many times.
func batch(ctx workflow.Context, pace contract.Pace, summary string) workflow.Context {
	o := workflow.GetActivityOptions(model(ctx, pace, summary))
	o.TaskQueue, o.StartToCloseTimeout = contract.QueueBatch, pace.GiveUp
	return workflow.WithActivityOptions(ctx, o)
}

func openTraining(ctx workflow.Context, in contract.TrainInput) (out contract.TrainingOpened, err error) {
	ctx = database(ctx, in.Pace, "take the bank")
	err = workflow.ExecuteActivity(ctx, contract.OpenTraining, in).Get(ctx, &out)
	return out, err
}

// closeTraining makes the run's row say how it ended, for a cancelled run too.
func closeTraining(ctx workflow.Context, in contract.TrainInput, cause error) (out contract.TrainResult, err error) {
	code, reason := explain(cause)
	detached, _ := workflow.NewDisconnectedContext(ctx)
	detached = database(detached, in.Pace, "close the training")
	err = workflow.ExecuteActivity(detached, contract.CloseTraining, contract.CloseInput{RunRef: in.RunRef, Code: code, Reason: reason}).Get(detached, &out)
	if temporal.IsCanceledError(cause) {
		return out, cause
	}
	return out, err
}
