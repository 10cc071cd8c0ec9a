package launcher

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
)

// memorySkills starts the workflows that build memories and train memory skills.
func (d Driver) memorySkills(ctx context.Context, workspaceKey, channel string, r run.Run) (closed bool, err error) {
	var spec bank.RunSpec
	if err := json.Unmarshal(r.Spec, &spec); err != nil {
		return false, fmt.Errorf("decode the configuration of run %s: %w", r.Ref.Run, err)
	}
	o := options(workspaceKey, channel, string(r.Kind), r.WorkflowID, r.Conversation,
		fmt.Sprintf("%s · run %s", r.Kind, r.Ref.Run))
	o.StaticDetails = fmt.Sprintf("See `cairn runs show %s` for the result. Texts are in Postgres, not here.",
		r.Ref.Run)
	ref := contract.RefOf(workspaceKey, r)
	if r.Kind == run.Train {
		return d.begin(ctx, o, contract.Train,
			contract.TrainInput{RunRef: ref, WorkflowID: r.WorkflowID, Timeouts: spec.Timing.StepTimeouts()})
	}
	if r.Kind == run.Evolve {
		return d.begin(ctx, o, contract.Evolve, contract.EvolveInput{RunRef: ref, Timeouts: spec.Timing.StepTimeouts()})
	}
	if r.Kind == run.Adapt {
		return d.begin(ctx, o, contract.Adapt, contract.AdaptInput{RunRef: ref, Timeouts: spec.Timing.StepTimeouts()})
	}
	if r.Kind == run.Probe {
		return d.begin(ctx, o, contract.Probe, contract.ProbeInput{RunRef: ref, Timeouts: spec.Timing.StepTimeouts()})
	}
	if r.Kind == run.Evaluate {
		return d.begin(ctx, o, contract.Evaluate,
			contract.EvaluateInput{RunRef: ref, Timeouts: spec.Timing.StepTimeouts()})
	}
	return d.begin(ctx, o, contract.Build, contract.BuildInput{RunRef: ref, Timeouts: spec.Timing.StepTimeouts()})
}
