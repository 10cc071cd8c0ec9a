package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/build"
)

// MemorySkills are the activities of memory skills: builds, and the training of policies and banks. Their
// services have results that workflows know in part, so each activity converts the result of its service.
type MemorySkills struct {
	Builds    BuildService
	Trainings TrainService
	Rounds    EvolveService
	Updates   AdaptService
	Probes    ProbeService
}

// BuildService extracts memories from sessions.
type BuildService interface {
	Open(ctx context.Context, ref run.Ref) (spans int, over *build.Result, err error)
	BuildSpan(ctx context.Context, ref run.Ref, number int) (learning.SpanOutcome, error)
	Close(ctx context.Context, ref run.Ref, code, reason string) (build.Result, error)
}

// RegisterMain registers the database steps with w.
func (a MemorySkills) RegisterMain(w worker.ActivityRegistry) {
	table{
		contract.OpenBuild:     a.OpenBuild,
		contract.CloseBuild:    a.CloseBuild,
		contract.OpenRound:     a.OpenRound,
		contract.CloseRound:    a.CloseRound,
		contract.OpenAdapt:     a.OpenAdapt,
		contract.CloseAdapt:    a.CloseAdapt,
		contract.OpenProbe:     a.OpenProbe,
		contract.CloseProbe:    a.CloseProbe,
		contract.OpenTraining:  a.OpenTraining,
		contract.CloseTraining: a.CloseTraining,
	}.register(w)
}

// RegisterLLM registers the steps that call a model.
func (a MemorySkills) RegisterLLM(w worker.ActivityRegistry) {
	table{
		contract.BuildSpan:  a.BuildSpan,
		contract.MakeProbes: a.MakeProbes,
		contract.AskProbe:   a.AskProbe,
	}.register(w)
}

// OpenBuild stores the session of a build and counts its spans.
func (a MemorySkills) OpenBuild(ctx context.Context, in contract.BuildInput) (contract.OpenBuildResult, error) {
	spans, over, err := a.Builds.Open(ctx, in.Ref())
	return contract.OpenBuildResult{Spans: spans, Ended: encoded(over, buildResult)}, temporalError(err)
}

// encoded converts the result of an earlier attempt, nil if there is none.
func encoded[T, R any](over *T, encode func(T) R) *R {
	if over == nil {
		return nil
	}
	out := encode(*over)
	return &out
}

// BuildSpan extracts memories from one span.
func (a MemorySkills) BuildSpan(ctx context.Context, in contract.SpanInput) (out contract.BuildSpanResult, err error) {
	defer heartbeat(ctx)()
	o, err := a.Builds.BuildSpan(ctx, in.Ref(), in.Span)
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

// CloseBuild closes a build.
func (a MemorySkills) CloseBuild(ctx context.Context, in contract.CloseInput) (contract.BuildResult, error) {
	out, err := a.Builds.Close(ctx, in.Ref(), in.Code, in.Reason)
	return buildResult(out), temporalError(err)
}

func buildResult(b build.Result) contract.BuildResult {
	return contract.BuildResult{
		Outcome: string(b.Outcome), Spans: b.Spans, Failed: b.Failed,
		Added: len(b.Added), Updated: len(b.Updated), Deleted: len(b.Deleted),
	}
}
