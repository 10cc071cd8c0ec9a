package app

import (
	"context"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
)

// endLost ends a run whose workflows have closed again and again without ending it. A turn still gets
// a reply.
func (h *App) endLost(ctx context.Context, r run.Run) (err error) {
	const code, why = string(agent.Lost), "its workflows closed without ending it"
	closing := contract.CloseInput{RunRef: contract.RefOf("", r), Code: code, Reason: why}
	switch r.Kind {
	case run.Turn, run.Nudge, run.Summarize, run.Specialist, run.Retrieve, run.Completion, run.Reflection, run.Flush:
		_, err = h.AgentRuns.Close(ctx, contract.CloseAgentInput{RunRef: closing.RunRef,
			Reason: agent.Lost, Detail: why})
	case run.Distill:
		_, err = h.Distill.Close(ctx, closing)
	case run.Offload:
		_, err = h.Offload.Close(ctx, contract.CloseOffloadInput{RunRef: closing.RunRef, Code: code, Why: why})
	case run.Build:
		_, err = h.Learning.Builds.Close(ctx, r.Ref, code, why)
	case run.Train:
		_, err = h.Learning.Trainings.Close(ctx, r.Ref, code, why)
	case run.Evolve:
		_, err = h.Learning.Rounds.Close(ctx, r.Ref, code, why)
	case run.Adapt:
		_, err = h.Learning.Updates.Close(ctx, r.Ref, code, why)
	case run.Probe:
		_, err = h.Learning.Probes.Close(ctx, r.Ref, code, why)
	case run.Evaluate:
		_, err = h.Evaluations.Close(ctx, closing)
	default:
		return fmt.Errorf("end run %s as lost: unknown kind %q", r.Ref.Run, r.Kind)
	}
	return err
}
