package agentrun

import (
	"context"
	"encoding/json"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/run"
)

// StepRepository reads and writes model responses and the results of their tool calls.
type StepRepository interface {
	// locks the run until the end of the transaction
	LockRun(ctx context.Context, id string) (run.Run, []run.Step, error)
	LockTurn(ctx context.Context, conversation int64, id string, first int) (conversation.Conversation, run.Run,
		[]run.Step, error)
	// Job reads the run, its steps and, for a turn, the turn.
	Job(ctx context.Context, id string) (run.Run, []run.Step, conversation.Turn, error)
	// Thread reads the session and the messages for a request of a turn.
	Thread(ctx context.Context, id, channel, lang string, t conversation.Turn, after int) (conversation.Session, bool,
		[]conversation.TurnMessage, error)
	// Resume returns false if the run has ended.
	Resume(ctx context.Context, id string, r conversation.StepResume) (conversation.StepResume, bool, error)
	PutStep(ctx context.Context, id string, s run.Step) error
	// EndCall stores the result of a call and returns the first stored result.
	EndCall(ctx context.Context, id string, c run.ToolCall) (run.ToolCall, error)
	// VoidOp returns the effect of an operation. An operation without an effect is voided.
	VoidOp(ctx context.Context, op string) (json.RawMessage, error)
}
