package activities

import (
	"context"
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/memoryagent"
)

// AgentService runs the agents of long-term memory.
type AgentService interface {
	KeepSession(ctx context.Context, ref run.Ref) (over *run.Run, err error)
	HandOff(
		ctx context.Context, ref run.Ref, step, position int, base agentrun.Base,
	) (memoryagent.HandedOff, error)
	RecordHandOff(
		ctx context.Context, ref run.Ref, step, position int, runs []string, base agentrun.Base,
	) error
	TakeTarget(ctx context.Context, ref run.Ref) (fence int64, over *run.Run, err error)
	FreeTarget(ctx context.Context, ref run.Ref, fence int64) error
	Await(ctx context.Context, ref run.Ref) (run.Run, error)
	RefineService
}

// AddService adds sessions to memory with one model call.
type AddService interface {
	Add(ctx context.Context, ws int64, subject string) (memoryagent.AddResult, error)
	Close(ctx context.Context, ws int64, subject string, reason agent.Reason, code string) error
}

// Adds are the activities of the workflow Remember.
type Adds struct{ Service AddService }

// RegisterLLM registers both activities with w, because the workflow runs on the same queue.
func (a Adds) RegisterLLM(w worker.ActivityRegistry) {
	register(w, contract.AddSessions, a.AddSessions)
	register(w, contract.CloseAdds, a.CloseAdds)
}

// AddSessions adds the waiting sessions of a subject with one model call.
func (a Adds) AddSessions(ctx context.Context, in contract.RememberInput) (contract.AddSessionsResult, error) {
	defer heartbeat(ctx)()
	out, err := a.Service.Add(ctx, in.Workspace, in.Subject)
	return contract.AddSessionsResult{Added: out.Added, More: out.More}, temporalError(err)
}

// CloseAdds ends the open adds of a subject without a result.
func (a Adds) CloseAdds(ctx context.Context, in contract.CloseAddsInput) error {
	return temporalError(a.Service.Close(ctx, in.Workspace, in.Subject, in.Reason, in.Code))
}

// Agents are the activities of the agents of long-term memory. Their steps are those of AgentRuns.
type Agents struct {
	Service AgentService
	Idle    func(ctx context.Context, in contract.IdleInput) (contract.IdleResult, error)
}

// RegisterMain registers the database steps with w.
func (a Agents) RegisterMain(w worker.ActivityRegistry) {
	register(w, contract.KeepSession, a.KeepSession)
	register(w, contract.TakeTarget, a.TakeTarget)
	register(w, contract.FreeTarget, a.FreeTarget)
	register(w, contract.AwaitAgent, a.AwaitAgent)
	register(w, contract.ReadIdle, a.ReadIdle)
	register(w, contract.CloseRefine, a.CloseRefine)
}

// RegisterSteps registers the activities that run on the queue of the agents' steps.
func (a Agents) RegisterSteps(w worker.ActivityRegistry) {
	register(w, contract.HandOff, a.HandOff)
	register(w, contract.RecordHandOff, a.RecordHandOff)
}

// KeepSession stores the session of a run.
func (a Agents) KeepSession(ctx context.Context, in contract.AgentInput) (contract.KeepSessionResult, error) {
	over, err := a.Service.KeepSession(ctx, ref(in.RunRef))
	if err != nil || over == nil {
		return contract.KeepSessionResult{}, temporalError(err)
	}
	out, err := endedRun(*over)
	return contract.KeepSessionResult{Ended: &out}, temporalError(err)
}

// HandOff creates the runs of a call to hands_off.
func (a Agents) HandOff(ctx context.Context, in contract.ToolInput) (contract.HandOffResult, error) {
	handed, err := a.Service.HandOff(ctx, ref(in.RunRef), in.Step, in.Position, agentrun.Base(in.Base))
	if err != nil {
		return contract.HandOffResult{}, temporalError(err)
	}
	specialists, err := agentsToStart(in.WorkspaceKey, handed.Specialists)
	return contract.HandOffResult{Recorded: handed.Handled, Specialists: specialists}, temporalError(err)
}

func agentsToStart(workspaceKey string, runs []run.Run) (out []contract.AgentToStart, err error) {
	for _, r := range runs {
		input, err := memoryagent.Input(workspaceKey, r)
		if err != nil {
			return nil, err
		}
		out = append(out, contract.AgentToStart{WorkflowID: r.WorkflowID, Type: input.Kind, Input: input})
	}
	return out, nil
}

// RecordHandOff stores the results of these runs.
func (a Agents) RecordHandOff(ctx context.Context, in contract.RecordHandOffInput) error {
	return temporalError(a.Service.RecordHandOff(
		ctx, ref(in.RunRef), in.Step, in.Position, in.Runs, agentrun.Base(in.Base)))
}

// TakeTarget claims the target of a specialist. It fails if another run holds it.
func (a Agents) TakeTarget(ctx context.Context, in contract.AgentInput) (contract.TakeTargetResult, error) {
	fence, over, err := a.Service.TakeTarget(ctx, ref(in.RunRef))
	if err != nil || over == nil {
		return contract.TakeTargetResult{Fence: fence}, queueError(err)
	}
	out, err := endedRun(*over)
	return contract.TakeTargetResult{Ended: &out}, temporalError(err)
}

// FreeTarget releases the target.
func (a Agents) FreeTarget(ctx context.Context, in contract.TargetInput) error {
	return temporalError(a.Service.FreeTarget(ctx, ref(in.RunRef), in.Fence))
}

// AwaitAgent returns when a run has ended.
func (a Agents) AwaitAgent(ctx context.Context, in contract.RunRef) (contract.AgentResult, error) {
	r, err := a.Service.Await(ctx, ref(in))
	if err != nil {
		return contract.AgentResult{}, temporalError(err)
	}
	out, err := endedRun(r)
	return out, temporalError(err)
}

// ReadIdle creates the runs that process an idle conversation.
func (a Agents) ReadIdle(ctx context.Context, in contract.IdleInput) (contract.IdleResult, error) {
	out, err := a.Idle(ctx, in)
	return out, temporalError(err)
}

// endedRun decodes the result in the row of a run.
func endedRun(r run.Run) (contract.AgentResult, error) {
	var e run.Result
	if err := json.Unmarshal(r.Result, &e); err != nil {
		return contract.AgentResult{}, fmt.Errorf("decode the result of run %s: %w", r.Ref.Run, err)
	}
	return agentResult(e), nil
}
