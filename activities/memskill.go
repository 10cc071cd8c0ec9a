package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	flow "cairn/internal/domain/contract"
	"cairn/internal/evolve"
)

// MemorySkills are the activities of memory skills.
type MemorySkills struct{ Service *evolve.Service }

// RegisterMain makes w host the database steps.
func (a MemorySkills) RegisterMain(w worker.ActivityRegistry) {
	register(w, flow.OpenBuild, a.OpenBuild)
	register(w, flow.CloseBuild, a.CloseBuild)
	register(w, flow.OpenRound, a.OpenRound)
	register(w, flow.CloseRound, a.CloseRound)
	register(w, flow.OpenAdapt, a.OpenAdapt)
	register(w, flow.CloseAdapt, a.CloseAdapt)
	register(w, flow.OpenProbe, a.OpenProbe)
	register(w, flow.CloseProbe, a.CloseProbe)
	register(w, flow.OpenTraining, a.OpenTraining)
	register(w, flow.CloseTraining, a.CloseTraining)
}

// RegisterLLM makes w host the steps that call a model.
func (a MemorySkills) RegisterLLM(w worker.ActivityRegistry) {
	register(w, flow.BuildSpan, a.BuildSpan)
	register(w, flow.MakeProbes, a.MakeProbes)
	register(w, flow.AskProbe, a.AskProbe)
}

// OpenBuild keeps the session of a build and counts its spans.
func (a MemorySkills) OpenBuild(ctx context.Context, in flow.BuildInput) (flow.BuildOpened, error) {
	spans, over, err := a.Service.OpenBuild(ctx, ref(in.RunRef))
	if err != nil || over == nil {
		return flow.BuildOpened{Spans: spans}, temporalError(err)
	}
	out := built(*over)
	return flow.BuildOpened{Ended: &out}, nil
}

// BuildSpan remembers one span.
func (a MemorySkills) BuildSpan(ctx context.Context, in flow.SpanInput) (out flow.SpanBuilt, err error) {
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
func (a MemorySkills) CloseBuild(ctx context.Context, in flow.CloseInput) (flow.BuildResult, error) {
	out, err := a.Service.CloseBuild(ctx, ref(in.RunRef), in.Code, in.Reason)
	return built(out), temporalError(err)
}

func built(b evolve.Built) flow.BuildResult {
	return flow.BuildResult{Outcome: string(b.Outcome), Spans: b.Spans, Failed: b.Failed, Added: len(b.Added), Updated: len(b.Updated), Deleted: len(b.Deleted)}
}
