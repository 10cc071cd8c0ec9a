package workflows

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Nudge reviews what was said since the last review, with the tools that
// remember, and tells the conversation when it is over.
func Nudge(ctx workflow.Context, in contract.NudgeInput) (contract.NudgeResult, error) {
	if err := inWorkspace(ctx, in.WorkspaceKey); err != nil {
		return contract.NudgeResult{}, err
	}
	story := newStory(ctx)
	story.tell(fmt.Sprintf("Opening the review after turn %d", in.Turn))
	opened, err := openNudge(ctx, in)
	if err != nil {
		return contract.NudgeResult{}, err
	}
	ended := opened.Ended
	if ended == nil {
		story.tell(fmt.Sprintf("Reviewing up to turn %d within %d model calls", in.Turn, opened.Budget.Max))
		out, err := runAgent(ctx, contract.AgentInput{RunRef: opened.RunRef, Kind: "nudge", Conversation: in.Conversation, Number: in.Turn, Budget: opened.Budget, Pace: opened.Pace, Queue: contract.QueueBatch})
		if err != nil {
			return contract.NudgeResult{}, err
		}
		ended = &out
	}
	result := contract.NudgeResult{Number: in.Number, Run: opened.Run, Status: ended.Status, Saved: ended.Saved, Steps: ended.Steps}
	// A conversation that has ended meanwhile reads the counters from its row.
	_ = workflow.SignalExternalWorkflow(ctx, in.Parent, "", contract.SignalNudgeDone, result).Get(ctx, nil)
	return result, nil
}

func openNudge(ctx workflow.Context, in contract.NudgeInput) (out contract.NudgeOpened, err error) {
	ctx = workflow.WithTaskQueue(database(ctx, in.Pace, "open the review"), contract.QueueBatch)
	err = workflow.ExecuteActivity(ctx, contract.OpenNudge, in).Get(ctx, &out)
	return out, err
}
