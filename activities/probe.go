package activities

import (
	"context"

	"cairn/internal/domain/contract"
	"cairn/internal/service/learning"
)

// OpenProbe marks a probing as picked up.
func (a MemorySkills) OpenProbe(ctx context.Context, in contract.ProbeInput) (out contract.ProbeOpened, err error) {
	over, err := a.Service.OpenProbe(ctx, ref(in.RunRef))
	if over != nil {
		ended := probed(*over)
		out.Ended = &ended
	}
	return out, temporalError(err)
}

// MakeProbes has a model make questions from what a build has read.
func (a MemorySkills) MakeProbes(ctx context.Context, in contract.ProbeInput) (contract.ProbesMade, error) {
	defer beat(ctx)()
	n, err := a.Service.MakeProbes(ctx, ref(in.RunRef))
	return contract.ProbesMade{Probes: n}, temporalError(err)
}

// AskProbe puts one of them to memory.
func (a MemorySkills) AskProbe(ctx context.Context, in contract.AskInput) error {
	defer beat(ctx)()
	return temporalError(a.Service.AskProbe(ctx, ref(in.RunRef), in.Probe))
}

// CloseProbe ends a probing.
func (a MemorySkills) CloseProbe(ctx context.Context, in contract.CloseInput) (contract.ProbeResult, error) {
	out, err := a.Service.CloseProbe(ctx, ref(in.RunRef), in.Code, in.Reason)
	return probed(out), temporalError(err)
}

func probed(p learning.Probed) contract.ProbeResult {
	return contract.ProbeResult{Outcome: string(p.Outcome), Probes: p.Probes, Scored: p.Scored, Mean: p.Mean}
}
