package activities

import (
	"context"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/live"
)

// ProbeService asks self-test questions.
type ProbeService interface {
	Open(ctx context.Context, ref run.Ref) (over *live.ProbeResult, err error)
	Make(ctx context.Context, ref run.Ref) (probes int, err error)
	Ask(ctx context.Context, ref run.Ref, number int) error
	Close(ctx context.Context, ref run.Ref, code, reason string) (live.ProbeResult, error)
}

// OpenProbe marks a probe run as started.
func (a MemorySkills) OpenProbe(ctx context.Context, in contract.ProbeInput) (contract.OpenProbeResult, error) {
	over, err := a.Probes.Open(ctx, in.Ref())
	return contract.OpenProbeResult{Ended: encoded(over, probeResult)}, temporalError(err)
}

// MakeProbes writes questions about the session of a build with a model.
func (a MemorySkills) MakeProbes(ctx context.Context, in contract.ProbeInput) (contract.MakeProbesResult, error) {
	defer heartbeat(ctx)()
	n, err := a.Probes.Make(ctx, in.Ref())
	return contract.MakeProbesResult{Probes: n}, temporalError(err)
}

// AskProbe asks one question.
func (a MemorySkills) AskProbe(ctx context.Context, in contract.AskInput) error {
	defer heartbeat(ctx)()
	return temporalError(a.Probes.Ask(ctx, in.Ref(), in.Probe))
}

// CloseProbe closes a probe run.
func (a MemorySkills) CloseProbe(ctx context.Context, in contract.CloseInput) (contract.ProbeResult, error) {
	out, err := a.Probes.Close(ctx, in.Ref(), in.Code, in.Reason)
	return probeResult(out), temporalError(err)
}

func probeResult(p live.ProbeResult) contract.ProbeResult {
	return contract.ProbeResult{Outcome: string(p.Outcome), Probes: p.Probes, Scored: p.Scored, Mean: p.Mean}
}
