package workflows

import (
	"fmt"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// trialsAtOnce bounds what a round asks of models at one time.
const trialsAtOnce = 4

// Evolve is a round of the designer: the hardest cases are analysed, edits of the
// bank proposed, and the bank that they make is tried on held-out conversations.
// Only what is better there comes into force.
func Evolve(ctx workflow.Context, in contract.EvolveInput) (contract.EvolveResult, error) {
	story := newStory(ctx)
	story.tell("Taking the bank")
	var opened contract.RoundOpened
	if err := execute(database(ctx, in.Pace, "take the bank"), contract.OpenRound, in, &opened); err != nil {
		return closeRound(ctx, in, err)
	}
	if opened.Ended != nil {
		return *opened.Ended, nil
	}
	story.tell("Choosing cases")
	var mined contract.RoundMined
	if err := execute(batch(ctx, in.Pace, "choose cases"), contract.MineRound, in, &mined); err != nil || mined.Cases == 0 {
		return closeRound(ctx, in, err)
	}
	story.tell(fmt.Sprintf("Designing from %d cases", mined.Cases))
	var designed contract.RoundDesigned
	if err := execute(batch(ctx, in.Pace, "propose edits"), contract.DesignRound, in, &designed); err != nil {
		return closeRound(ctx, in, err)
	}
	story.tell(fmt.Sprintf("Trying the candidate on %d conversations", designed.Trials))
	return closeRound(ctx, in, try(ctx, in.RunRef, in.Pace, contract.Trial, designed.Trials))
}

// try plays the held-out conversations with one activity each, some at once.
func try(ctx workflow.Context, ref contract.RunRef, pace contract.Pace, activity string, trials int) error {
	slots := workflow.NewSemaphore(ctx, trialsAtOnce)
	group := workflow.NewWaitGroup(ctx)
	failed := make([]error, trials)
	for n := range trials {
		group.Add(1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer group.Done()
			if failed[n] = slots.Acquire(ctx, 1); failed[n] != nil {
				return
			}
			defer slots.Release(1)
			failed[n] = execute(batch(ctx, pace, fmt.Sprintf("trial %d of %d", n+1, trials)), activity, contract.TrialInput{RunRef: ref, Trial: n}, nil)
		})
	}
	group.Wait(ctx)
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

func execute(ctx workflow.Context, activity string, in, out any) error {
	return workflow.ExecuteActivity(ctx, activity, in).Get(ctx, out)
}

// closeRound makes the run's row say how it ended, for a cancelled run too.
func closeRound(ctx workflow.Context, in contract.EvolveInput, cause error) (out contract.EvolveResult, err error) {
	code, reason := explain(cause)
	detached, _ := workflow.NewDisconnectedContext(ctx)
	err = execute(database(detached, in.Pace, "close the round"), contract.CloseRound, contract.CloseInput{RunRef: in.RunRef, Code: code, Reason: reason}, &out)
	if temporal.IsCanceledError(cause) {
		return out, cause
	}
	return out, err
}
