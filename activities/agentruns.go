package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
)

// AgentRunService runs turns and the agents in conversations.
type AgentRunService interface {
	Transcribe(ctx context.Context, ref run.Ref) error
	Step(ctx context.Context, ref run.Ref, step agent.Step, base agentrun.Base) (agentrun.StepResult, error)
	RunTool(ctx context.Context, ref run.Ref, step, position int, base agentrun.Base) error
	Close(
		ctx context.Context, ref run.Ref, reason agent.Reason, detail string, base agentrun.Base,
	) (*run.Result, error)
	Await(ctx context.Context, ref run.Ref) (*run.Result, error)
	OpenNudge(ctx context.Context, r agentrun.Review) (agentrun.Reviewing, error)
}

// ConversationCloser stores the state of a conversation when its workflow ends.
type ConversationCloser interface {
	CloseConversation(ctx context.Context, workspace, id int64, counters nudge.Counters, byUser bool) error
}

// AgentRuns are the activities of conversations and of the agents in them.
type AgentRuns struct {
	Service  AgentRunService
	Closer   ConversationCloser
	Approver Approver
	Spec     func() agentrun.Spec // configuration that a review pins
}

// Approver approves or rejects pending changes of skills.
type Approver interface {
	Decide(ctx context.Context, ws, pending int64, approve bool) (skill int64, version int, err error)
}

// RegisterMain registers the database steps with w.
func (a AgentRuns) RegisterMain(w worker.ActivityRegistry) {
	register(w, contract.CloseAgent, a.CloseAgent)
	register(w, contract.CountTurn, a.CountTurn)
	register(w, contract.AwaitTurn, a.AwaitTurn)
	register(w, contract.ApproveWrite, a.ApproveWrite)
	register(w, contract.CloseConversation, a.CloseConversation)
}

// RegisterLLM registers the steps of turns, and the activity that closes turns whose workflow runs
// on the same queue.
func (a AgentRuns) RegisterLLM(w worker.ActivityRegistry) {
	a.registerAgent(w)
	register(w, contract.Transcribe, a.Transcribe)
	register(w, contract.CloseAgent, a.CloseAgent)
}

// RegisterBatch registers the steps of reviews, which run in the background.
func (a AgentRuns) RegisterBatch(w worker.ActivityRegistry) {
	a.registerAgent(w)
	register(w, contract.OpenNudge, a.OpenNudge)
}

func (a AgentRuns) registerAgent(w worker.ActivityRegistry) {
	register(w, contract.Step, a.Step)
	register(w, contract.RunTool, a.RunTool)
}

// RegisterSandbox registers the calls that run in a sandbox.
func (a AgentRuns) RegisterSandbox(w worker.ActivityRegistry) {
	register(w, contract.RunTool, a.RunTool)
}

// Transcribe writes the words of the recordings of a turn into its messages.
func (a AgentRuns) Transcribe(ctx context.Context, in contract.RunRef) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.Transcribe(ctx, ref(in)))
}

// Step runs the tools that the last response called, and requests one model response.
func (a AgentRuns) Step(ctx context.Context, in contract.StepInput) (contract.StepResult, error) {
	defer heartbeat(ctx)()
	out, err := a.Service.Step(ctx, ref(in.RunRef), in.Step, agentrun.Base(in.Base))
	return contract.StepResult{
		StepDone: out.StepDone, Ended: encoded(out.Ended, agentResult), Overflow: encoded(out.Overflow, offloadToStart),
	}, temporalError(err)
}

// RunTool runs one slow or isolated tool call.
func (a AgentRuns) RunTool(ctx context.Context, in contract.ToolInput) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.RunTool(
		ctx, ref(in.RunRef), in.Step, in.Position, agentrun.Base(in.Base)))
}

// CloseAgent closes a run that no step has closed.
func (a AgentRuns) CloseAgent(ctx context.Context, in contract.CloseAgentInput) (contract.AgentResult, error) {
	e, err := a.Service.Close(ctx, ref(in.RunRef), in.Reason, in.Detail, agentrun.Base(in.Base))
	return resultOf(e), temporalError(err)
}

// CountTurn ends an observed turn.
func (a AgentRuns) CountTurn(ctx context.Context, in contract.CountInput) (contract.AgentResult, error) {
	e, err := a.Service.Close(ctx, ref(in.RunRef), contract.Observed, "", agentrun.Base(in.Base))
	return resultOf(e), temporalError(err)
}

// AwaitTurn returns when a turn has ended.
func (a AgentRuns) AwaitTurn(ctx context.Context, in contract.RunRef) (contract.AgentResult, error) {
	e, err := a.Service.Await(ctx, ref(in))
	return resultOf(e), temporalError(err)
}

// OpenNudge creates a review's run and pins its prompt.
func (a AgentRuns) OpenNudge(ctx context.Context, in contract.NudgeInput) (contract.OpenNudgeResult, error) {
	r, err := a.Service.OpenNudge(ctx, agentrun.Review{
		Workspace: in.Workspace, WorkspaceKey: in.WorkspaceKey, Conversation: in.Conversation,
		Number: in.Number, Turn: in.Turn, Memory: in.Memory, Skill: in.Skill, Counters: in.Counters, Spec: a.Spec(),
	})
	return openNudgeResult(in, r), temporalError(err)
}

func openNudgeResult(in contract.NudgeInput, r agentrun.Reviewing) contract.OpenNudgeResult {
	return contract.OpenNudgeResult{
		RunRef: contract.RunRef{
			Workspace: in.Workspace, WorkspaceKey: in.WorkspaceKey, Run: r.Run.Ref.Run, Attempt: r.Run.Attempt,
		},
		Budget: r.Spec.Budget, Timeouts: r.Spec.Timeouts(), Ended: encoded(r.Ended, agentResult),
	}
}

// ApproveWrite approves or rejects a pending change.
func (a AgentRuns) ApproveWrite(
	ctx context.Context, in contract.ApproveWriteInput,
) (contract.ApproveWriteResult, error) {
	skill, version, err := a.Approver.Decide(ctx, in.Workspace, in.Pending, in.Approve)
	return contract.ApproveWriteResult{Skill: skill, Version: version}, temporalError(err)
}

// CloseConversation stores the state of a conversation.
func (a AgentRuns) CloseConversation(ctx context.Context, in contract.CloseConversationInput) error {
	return temporalError(a.Closer.CloseConversation(ctx, in.Workspace, in.Conversation, in.Counters, in.Ended))
}

// resultOf returns the result of a run, empty if there is an error.
func resultOf(e *run.Result) (out contract.AgentResult) {
	if e != nil {
		out = agentResult(*e)
	}
	return out
}

func agentResult(e run.Result) contract.AgentResult {
	return contract.AgentResult{
		Reason: e.Reason, Steps: e.Steps, Saved: len(e.Writes), ReplySeq: e.ReplySeq,
		Counters: e.Counters, MayNudge: e.MayNudge, Status: e.Status,
	}
}
