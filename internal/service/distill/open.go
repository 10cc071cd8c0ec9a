package distill

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/store"
)

// Open marks a run as started and applies the gate, for a workflow that reads the timeouts before
// it calls Segment. It returns false if nothing is left to do.
func (s *Service) Open(ctx context.Context, ref run.Ref) (spec Spec, open bool, err error) {
	j, err := s.load(ctx, ref, func(ctx context.Context, tx store.Tx, j job) error {
		open, err = j.open(ctx, tx)
		return err
	})
	return j.spec, open, err
}

// open marks a run as started and applies the gate. It returns false if the gate rejects the run or
// an earlier attempt has ended it.
func (j job) open(ctx context.Context, tx store.Tx) (bool, error) {
	if len(j.spec.Models) == 0 {
		if err := j.pinModels(ctx, tx); err != nil {
			return false, err
		}
	}
	decision := j.spec.Gate.Decide(j.conv.Messages, j.spec.Extract)
	open, err := tx.Runs().StartRun(ctx, j.run.Ref.Run)
	if err != nil || !open || decision.Pass {
		return open, err
	}
	return false, tx.Runs().EndRun(ctx, j.run.Ref.Run, run.Gated, decision.Reason, distillation.Result{Gate: &decision})
}

// pinModels stores the models of this process, which runs the first step, for all later steps. A request does not
// name models: its process may have other settings than the workers.
func (j job) pinModels(ctx context.Context, tx store.Tx) error {
	raw, err := tx.Calls().PinModels(ctx, j.run.Ref, j.models)
	if err != nil {
		return err
	}
	var spec Spec
	if err := json.Unmarshal(raw, &spec); err != nil {
		return fmt.Errorf("decode the configuration of run %s: %w", j.run.Ref.Run, err)
	}
	maps.Copy(j.spec.Models, spec.Models)
	return nil
}
