package memoryagent

import (
	"context"
	"fmt"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
)

// Input is what the workflow of a run starts with.
func Input(workspaceKey string, r run.Run) (contract.AgentInput, error) {
	w, p, err := pinnedOf(r)
	if err != nil {
		return contract.AgentInput{}, err
	}
	in := contract.AgentInput{RunRef: contract.RunRef{Workspace: r.Workspace, WorkspaceKey: workspaceKey,
		Run: r.Ref.Run, Attempt: r.Attempt}, Kind: string(r.Kind), Conversation: r.Conversation,
		Budget: w.Spec.Budget, Timeouts: w.Spec.Timeouts(), Interval: w.Spec.Interval, Queue: contract.QueueBatch}
	switch r.Kind {
	case run.Specialist:
		in.Kind = string(p.Type)
	case run.Retrieve: // somebody waits
		in.Queue = contract.QueueLLM
	}
	return in, nil
}

// Await returns a run once it has ended; before that it is Unavailable, to be
// asked again.
func (s *Service) Await(ctx context.Context, ref run.Ref) (run.Run, error) {
	r, err := s.run(ctx, ref)
	if err == nil && r.Status != run.Ended {
		err = fault.New(fault.Unavailable, fmt.Sprintf("run %d has not ended yet", ref.Run), "")
	}
	return r, err
}

// RefineInput is what the workflow of a run starts with that goes over what a
// search found; does is false of any other.
func RefineInput(workspaceKey string, r run.Run) (in contract.RefineInput, does bool, err error) {
	w, p, err := pinnedOf(r)
	if err != nil || p.Refining == nil {
		return in, false, err
	}
	return contract.RefineInput{RunRef: contract.RunRef{Workspace: r.Workspace, WorkspaceKey: workspaceKey,
		Run: r.Ref.Run, Attempt: r.Attempt}, Timeouts: w.Spec.Timeouts(),
		Rerank: p.Refining.Rerank, Rewrite: p.Refining.Rewrite}, true, nil
}
