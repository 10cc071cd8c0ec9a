package activities

import (
	"context"
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/service/conversation"
	"cairn/internal/service/memoryagent"
)

// Agents are the activities of the agents of long-term memory; their steps are
// those of Converse.
type Agents struct {
	Service *memoryagent.Service
	Idle    func(ctx context.Context, in contract.IdleInput) (contract.IdleRead, error)
}

// RegisterMain makes w host the database steps.
func (a Agents) RegisterMain(w worker.ActivityRegistry) {
	register(w, contract.KeepSession, a.KeepSession)
	register(w, contract.TakeTarget, a.TakeTarget)
	register(w, contract.FreeTarget, a.FreeTarget)
	register(w, contract.AwaitAgent, a.AwaitAgent)
	register(w, contract.ReadIdle, a.ReadIdle)
	register(w, contract.CloseRefine, a.CloseRefine)
}

// RegisterSteps makes w host what runs where the steps of agents do.
func (a Agents) RegisterSteps(w worker.ActivityRegistry) {
	register(w, contract.HandOff, a.HandOff)
	register(w, contract.TellHandOff, a.TellHandOff)
}

// KeepSession keeps the session of a run.
func (a Agents) KeepSession(ctx context.Context, in contract.AgentInput) (contract.SessionKept, error) {
	over, err := a.Service.KeepSession(ctx, ref(in.RunRef))
	if err != nil || over == nil {
		return contract.SessionKept{}, temporalError(err)
	}
	out, err := endedRun(*over)
	return contract.SessionKept{Ended: out}, err
}

// HandOff makes the runs of a call to hands_off.
func (a Agents) HandOff(ctx context.Context, in contract.ToolInput) (out contract.HandedOff, err error) {
	handed, err := a.Service.HandOff(ctx, ref(in.RunRef), in.Step, in.Position, conversation.Base(in.Base))
	if err != nil {
		return out, temporalError(err)
	}
	out.Told = handed.Told
	for _, r := range handed.Specialists {
		input, err := memoryagent.Input(in.WorkspaceKey, r)
		if err != nil {
			return out, temporalError(err)
		}
		out.Specialists = append(out.Specialists, contract.AgentToStart{WorkflowID: r.WorkflowID, Type: input.Kind, Input: input})
	}
	return out, nil
}

// TellHandOff stores what became of them.
func (a Agents) TellHandOff(ctx context.Context, in contract.TellInput) error {
	return temporalError(a.Service.TellHandOff(ctx, ref(in.RunRef), in.Step, in.Position, in.Runs, conversation.Base(in.Base)))
}

// TakeTarget takes the target of a specialist, or says that another has it.
func (a Agents) TakeTarget(ctx context.Context, in contract.AgentInput) (contract.TargetTaken, error) {
	fence, over, err := a.Service.TakeTarget(ctx, ref(in.RunRef))
	if fault.CodeOf(err) == fault.Unavailable { // its turn will come
		return contract.TargetTaken{}, benign(err, string(fault.Unavailable), 0)
	}
	if err != nil || over == nil {
		return contract.TargetTaken{Fence: fence}, temporalError(err)
	}
	out, err := endedRun(*over)
	return contract.TargetTaken{Ended: out}, err
}

// FreeTarget gives it back.
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
	if err != nil {
		return contract.AgentResult{}, err
	}
	return *out, nil
}

// ReadIdle has an idle conversation read.
func (a Agents) ReadIdle(ctx context.Context, in contract.IdleInput) (contract.IdleRead, error) {
	out, err := a.Idle(ctx, in)
	return out, temporalError(err)
}

func endedRun(r run.Run) (*contract.AgentResult, error) {
	var e conversation.Ended
	if err := json.Unmarshal(r.Result, &e); err != nil {
		return nil, temporalError(fmt.Errorf("decode the result of run %d: %w", r.Ref.Run, err))
	}
	return ended(&e), nil
}
