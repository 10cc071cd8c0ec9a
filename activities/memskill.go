package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/service/learning"
)

// MemorySkills are the activities of memory skills.
type MemorySkills struct{ Service *learning.Service }

// RegisterMain makes w host the database steps.
func (a MemorySkills) RegisterMain(w worker.ActivityRegistry) {
	register(w, contract.OpenBuild, a.OpenBuild)
	register(w, contract.CloseBuild, a.CloseBuild)
	register(w, contract.OpenRound, a.OpenRound)
	register(w, contract.CloseRound, a.CloseRound)
	register(w, contract.OpenAdapt, a.OpenAdapt)
	register(w, contract.CloseAdapt, a.CloseAdapt)
	register(w, contract.OpenProbe, a.OpenProbe)
	register(w, contract.CloseProbe, a.CloseProbe)
	register(w, contract.OpenTraining, a.OpenTraining)
	register(w, contract.CloseTraining, a.CloseTraining)
}

// RegisterLLM makes w host the steps that call a model.
func (a MemorySkills) RegisterLLM(w worker.ActivityRegistry) {
	register(w, contract.BuildSpan, a.BuildSpan)
	register(w, contract.MakeProbes, a.MakeProbes)
	register(w, contract.AskProbe, a.AskProbe)
}

// OpenBuild keeps the session of a build and counts its spans.
func (a MemorySkills) OpenBuild(ctx context.Context, in contract.BuildInput) (contract.BuildOpened, error) {
	spans, over, err := a.Service.OpenBuild(ctx, ref(in.RunRef))
	if err != nil || over == nil {
		return contract.BuildOpened{Spans: spans}, temporalError(err)
	}
	out := built(*over)
	return contract.BuildOpened{Ended: &out}, nil
}

// BuildSpan remembers one span.
func (a MemorySkills) BuildSpan(ctx context.Context, in contract.SpanInput) (out contract.SpanBuilt, err error) {
	defer beat(ctx)()
	o, err := a.Service.BuildSpan(ctx, ref(in.RunRef), in.Span)
	if err != nil {
		return out, temporalError(err)
	}
	out.Outcome = string(o.Outcome)
	for _, r := range o.Actions {
		if r.Outcome == "ok" {
			out.Done++
		} else {
			out.Refused++
		}
	}
	return out, nil
}

// CloseBuild ends a build.
func (a MemorySkills) CloseBuild(ctx context.Context, in contract.CloseInput) (contract.BuildResult, error) {
	out, err := a.Service.CloseBuild(ctx, ref(in.RunRef), in.Code, in.Reason)
	return built(out), temporalError(err)
}

func built(b learning.Built) contract.BuildResult {
	return contract.BuildResult{Outcome: string(b.Outcome), Spans: b.Spans, Failed: b.Failed, Added: len(b.Added), Updated: len(b.Updated), Deleted: len(b.Deleted)}
}
