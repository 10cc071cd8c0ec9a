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

// AgentRunService answers turns and runs the agents in conversations.
type AgentRunService interface {
	Step(ctx context.Context, ref run.Ref, step agent.Step, base agentrun.Base) (agentrun.StepResult, error)
	RunTool(ctx context.Context, ref run.Ref, step, position int, base agentrun.Base) error
	Close(
		ctx context.Context, ref run.Ref, reason agent.Reason, detail string, base agentrun.Base,
	) (*agentrun.RunResult, error)
	Await(ctx context.Context, ref run.Ref) (*agentrun.RunResult, error)
	OpenNudge(ctx context.Context, r agentrun.Review) (agentrun.Reviewing, error)
}

// ConversationCloser writes down where a conversation stands when its workflow ends.
type ConversationCloser interface {
	CloseConversation(ctx context.Context, workspace, id int64, counters nudge.Counters, byUser bool) error
}

// AgentRuns are the activities of conversations and of the agents in them.
type AgentRuns struct {
	Service  AgentRunService
	Closer   ConversationCloser
	Approver Approver
	Spec     func() agentrun.Spec // the configuration that a review is pinned to
}

// Approver decides about changes of skills that wait.
type Approver interface {
	Decide(ctx context.Context, ws, pending int64, approve bool) (skill int64, version int, err error)
}

// RegisterMain makes w host the database steps.
func (a AgentRuns) RegisterMain(w worker.ActivityRegistry) {
	register(w, contract.CloseAgent, a.CloseAgent)
	register(w, contract.CountTurn, a.CountTurn)
	register(w, contract.AwaitTurn, a.AwaitTurn)
	register(w, contract.ApproveWrite, a.ApproveWrite)
	register(w, contract.CloseConversation, a.CloseConversation)
}

// RegisterLLM makes w host the steps of turns, with what closes those whose workflow
// runs beside them.
func (a AgentRuns) RegisterLLM(w worker.ActivityRegistry) {
	a.registerAgent(w)
	register(w, contract.CloseAgent, a.CloseAgent)
}

// RegisterBatch makes w host the steps of reviews, which run in the background.
func (a AgentRuns) RegisterBatch(w worker.ActivityRegistry) {
	a.registerAgent(w)
	register(w, contract.OpenNudge, a.OpenNudge)
}

func (a AgentRuns) registerAgent(w worker.ActivityRegistry) {
	register(w, contract.Step, a.Step)
	register(w, contract.RunTool, a.RunTool)
}

// RegisterSandbox makes w host the calls that run in a sandbox.
func (a AgentRuns) RegisterSandbox(w worker.ActivityRegistry) {
	register(w, contract.RunTool, a.RunTool)
}

// Step makes one model response of a run, and runs the tools that the last one
// called.
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

// CloseAgent ends a run that no step has ended.
func (a AgentRuns) CloseAgent(ctx context.Context, in contract.CloseAgentInput) (contract.AgentResult, error) {
	e, err := a.Service.Close(ctx, ref(in.RunRef), in.Reason, in.Detail, agentrun.Base(in.Base))
	return resultOf(e), temporalError(err)
}

// CountTurn ends a turn that a gateway's own agent has answered.
func (a AgentRuns) CountTurn(ctx context.Context, in contract.CountInput) (contract.AgentResult, error) {
	e, err := a.Service.Close(ctx, ref(in.RunRef), contract.Observed, "", agentrun.Base(in.Base))
	return resultOf(e), temporalError(err)
}

// AwaitTurn returns when a turn has ended.
func (a AgentRuns) AwaitTurn(ctx context.Context, in contract.RunRef) (contract.AgentResult, error) {
	e, err := a.Service.Await(ctx, ref(in))
	return resultOf(e), temporalError(err)
}

// OpenNudge records a review and pins what its model is told.
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

// ApproveWrite decides about a change that waits for approval.
func (a AgentRuns) ApproveWrite(
	ctx context.Context, in contract.ApproveWriteInput,
) (contract.ApproveWriteResult, error) {
	skill, version, err := a.Approver.Decide(ctx, in.Workspace, in.Pending, in.Approve)
	return contract.ApproveWriteResult{Skill: skill, Version: version}, temporalError(err)
}

// CloseConversation writes down where a conversation stands.
func (a AgentRuns) CloseConversation(ctx context.Context, in contract.CloseConversationInput) error {
	return temporalError(a.Closer.CloseConversation(ctx, in.Workspace, in.Conversation, in.Counters, in.Ended))
}

// resultOf is what a run has ended with, empty beside an error.
func resultOf(e *agentrun.RunResult) (out contract.AgentResult) {
	if e != nil {
		out = agentResult(*e)
	}
	return out
}

func agentResult(e agentrun.RunResult) contract.AgentResult {
	return contract.AgentResult{
		Reason: e.Reason, Steps: e.Steps, Saved: len(e.Writes), ReplySeq: e.ReplySeq,
		Counters: e.Counters, MayNudge: e.MayNudge, Status: e.Status,
	}
}
