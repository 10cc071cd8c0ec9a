package workflows

import (
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

// Nudge reviews the turns since the last review, with tools that save memories and skills, and
// signals the result to the conversation.
func Nudge(ctx workflow.Context, in contract.NudgeInput) (contract.NudgeResult, error) {
	if err := inWorkspace(ctx, in.WorkspaceKey); err != nil {
		return contract.NudgeResult{}, err
	}
	setDetails(ctx, "Opening the review after turn %d", in.Turn)
	options := onQueue(contract.QueueBatch, databaseStep(in.Timeouts, "open the review"))
	opened, err := execute[contract.OpenNudgeResult](ctx, options, contract.OpenNudge, in)
	if err != nil {
		return contract.NudgeResult{}, err
	}
	ended := opened.Ended
	if ended == nil {
		setDetails(ctx, "Reviewing up to turn %d within %d model calls", in.Turn, opened.Budget.Max)
		out, err := runAgent(ctx, contract.AgentInput{
			RunRef: opened.RunRef, Kind: "nudge", Conversation: in.Conversation, Number: in.Turn,
			Budget: opened.Budget, Timeouts: opened.Timeouts, Queue: contract.QueueBatch,
		})
		if err != nil {
			return contract.NudgeResult{}, err
		}
		ended = &out
	}
	result := contract.NudgeResult{
		Number: in.Number, Run: opened.Run, Status: ended.Status, Saved: ended.Saved, Steps: ended.Steps,
	}
	// If the conversation has ended meanwhile, it reads the counters from its row.
	_ = workflow.SignalExternalWorkflow(ctx, in.Parent, "", contract.SignalNudgeDone, result).Get(ctx, nil)
	return result, nil
}
