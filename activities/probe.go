package activities

import (
	"context"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning"
)

// ProbeService has memory ask itself.
type ProbeService interface {
	OpenProbe(ctx context.Context, ref run.Ref) (over *learning.Probed, err error)
	MakeProbes(ctx context.Context, ref run.Ref) (probes int, err error)
	AskProbe(ctx context.Context, ref run.Ref, number int) error
	CloseProbe(ctx context.Context, ref run.Ref, code, reason string) (learning.Probed, error)
}

// OpenProbe marks a probing as picked up.
func (a MemorySkills) OpenProbe(ctx context.Context, in contract.ProbeInput) (contract.OpenProbeResult, error) {
	over, err := a.Service.OpenProbe(ctx, ref(in.RunRef))
	return contract.OpenProbeResult{Ended: encoded(over, probeResult)}, temporalError(err)
}

// MakeProbes has a model make questions from what a build has read.
func (a MemorySkills) MakeProbes(ctx context.Context, in contract.ProbeInput) (contract.MakeProbesResult, error) {
	defer heartbeat(ctx)()
	n, err := a.Service.MakeProbes(ctx, ref(in.RunRef))
	return contract.MakeProbesResult{Probes: n}, temporalError(err)
}

// AskProbe puts one of them to memory.
func (a MemorySkills) AskProbe(ctx context.Context, in contract.AskInput) error {
	defer heartbeat(ctx)()
	return temporalError(a.Service.AskProbe(ctx, ref(in.RunRef), in.Probe))
}

// CloseProbe ends a probing.
func (a MemorySkills) CloseProbe(ctx context.Context, in contract.CloseInput) (contract.ProbeResult, error) {
	out, err := a.Service.CloseProbe(ctx, ref(in.RunRef), in.Code, in.Reason)
	return probeResult(out), temporalError(err)
}

func probeResult(p learning.Probed) contract.ProbeResult {
	return contract.ProbeResult{Outcome: string(p.Outcome), Probes: p.Probes, Scored: p.Scored, Mean: p.Mean}
}
