package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
)

// callsAtOnce is the number of model calls before Remember continues as new.
const callsAtOnce = 100

// Remember adds the sessions of a subject to memory, one model call after another, each for those that wait. It ends
// when none is left. A session that arrives while it ends is announced by a signal, with which it goes on.
func Remember(ctx workflow.Context, in contract.RememberInput) error {
	news := workflow.GetSignalChannel(ctx, contract.SignalRemember)
	for range callsAtOnce {
		for news.ReceiveAsync(nil) { // the next call adds what they announce
		}
		out, err := execute[contract.AddSessionsResult](
			ctx, modelStep(in.Timeouts, "add sessions · model"), contract.AddSessions, in)
		if err != nil {
			return closeAdds(ctx, in, err)
		}
		if !out.More && news.Len() == 0 {
			return nil
		}
	}
	return workflow.NewContinueAsNewError(ctx, Remember, in)
}

// closeAdds ends the open adds of a subject whose call failed permanently, or was canceled.
func closeAdds(ctx workflow.Context, in contract.RememberInput, cause error) error {
	closing := contract.CloseAddsInput{RememberInput: in, Reason: agent.ProviderError}
	closing.Code, _ = explain(cause)
	if temporal.IsCanceledError(cause) {
		closing.Reason = agent.Interrupted
	}
	detached, _ := workflow.NewDisconnectedContext(ctx)
	options := onWorkflowQueue(ctx, databaseStep(in.Timeouts, "write down how it ended"))
	err := perform(detached, options, contract.CloseAdds, closing)
	if temporal.IsCanceledError(cause) {
		return cause
	}
	return err
}
