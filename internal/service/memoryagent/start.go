package memoryagent

import (
	"context"
	"fmt"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
)

// Input returns the input of the workflow of a run.
func Input(workspaceKey string, r run.Run) (contract.AgentInput, error) {
	w, p, err := pinnedOf(r)
	if err != nil {
		return contract.AgentInput{}, err
	}
	in := contract.AgentInput{RunRef: contract.RefOf(workspaceKey, r), Kind: string(r.Kind),
		Conversation: r.Conversation,
		Budget:       w.Spec.Budget, Timeouts: w.Spec.Timeouts(), Interval: w.Spec.Interval, Queue: contract.QueueBatch}
	switch r.Kind {
	case run.Specialist:
		in.Kind = string(p.Type)
	case run.Retrieve: // a caller waits
		in.Queue = contract.QueueLLM
	}
	return in, nil
}

// Ended returns a run that has ended. Until then it returns Unavailable.
func (s *Service) Ended(ctx context.Context, ref run.Ref) (run.Run, error) {
	r, err := s.run(ctx, ref)
	if err == nil && r.Status != run.Ended {
		err = fault.New(fault.Unavailable, fmt.Sprintf("run %s has not ended yet", ref.Run), "")
	}
	return r, err
}

// Await returns the result of a run that has ended. Until then it returns Unavailable, and the caller
// retries.
func (s *Service) Await(ctx context.Context, in contract.RunRef) (contract.AgentResult, error) {
	r, err := s.Ended(ctx, in.Ref())
	if err != nil {
		return contract.AgentResult{}, err
	}
	out, err := endedOf(r)
	if err != nil {
		return contract.AgentResult{}, err
	}
	return *out, nil
}

// RefineInput returns the workflow input of a refinement run. For other runs, does is false.
func RefineInput(workspaceKey string, r run.Run) (in contract.RefineInput, does bool, err error) {
	w, p, err := pinnedOf(r)
	if err != nil || p.Refining == nil {
		return in, false, err
	}
	return contract.RefineInput{RunRef: contract.RefOf(workspaceKey, r), Timeouts: w.Spec.Timeouts(),
		Rerank: p.Refining.Rerank, Rewrite: p.Refining.Rewrite}, true, nil
}
