package activities

import (
	"context"
	"testing"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/build"
	"cairn/internal/service/learning/live"
	"cairn/internal/service/learning/train"
)

// learningService is a fake whose runs have all ended, or none.
type learningService struct {
	calls
	over   bool
	trials int // of a candidate
}

// Each service of learning, implemented by the fake.
type (
	builds    struct{ *learningService }
	trainings struct{ *learningService }
	rounds    struct{ *learningService }
	updates   struct{ *learningService }
	probes    struct{ *learningService }
)

func skillsOf(s *learningService) MemorySkills {
	return MemorySkills{
		Builds: builds{s}, Trainings: trainings{s}, Rounds: rounds{s}, Updates: updates{s}, Probes: probes{s},
	}
}

func unless[T any](over bool, v T) *T {
	if over {
		return &v
	}
	return nil
}

func (s builds) Open(_ context.Context, ref run.Ref) (int, *build.Result, error) {
	return 5, unless(s.over, s.built()), s.note("open build %s", of(ref))
}

func (s *learningService) built() build.Result {
	return build.Result{
		Outcome: run.CompletedPartial, Spans: 5, Failed: 1, Added: []string{"a", "b"}, Updated: []string{"c"},
	}
}

func (s builds) BuildSpan(_ context.Context, ref run.Ref, n int) (learning.SpanOutcome, error) {
	actions := []executor.ResolvedAction{{Outcome: executor.OK}, {Outcome: executor.Refused}, {Outcome: executor.OK}}
	return learning.SpanOutcome{Outcome: executor.OK, Actions: actions}, s.note("span %s %d", of(ref), n)
}

func (s builds) Close(_ context.Context, ref run.Ref, code, reason string) (build.Result, error) {
	return s.built(), s.note("close build %s %s %s", of(ref), code, reason)
}

func (s *learningService) trained() learning.TrainingResult {
	return learning.TrainingResult{Outcome: run.Completed, Version: 2, Policy: "p", Stages: 3, Iterations: 9, Best: 0.5}
}

func (s trainings) Open(
	_ context.Context, ref run.Ref,
) (train.Spec, *learning.TrainingResult, error) {
	return train.Spec{Stages: 2, Iterations: 3, Episodes: 4, Parallel: 5, Held: []int64{1, 2}},
		unless(s.over, s.trained()), s.note("open training %s", of(ref))
}

func (s trainings) PlayEpisode(_ context.Context, ref run.Ref, stage, iteration, episode int) error {
	return s.note("episode %s %d %d %d", of(ref), stage, iteration, episode)
}

func (s trainings) Learn(_ context.Context, ref run.Ref, stage, iteration int) (train.IterationResult, error) {
	return train.IterationResult{Reward: 0.25, Policy: "p"}, s.note("learn %s %d %d", of(ref), stage, iteration)
}

func (s trainings) CloseStage(_ context.Context, ref run.Ref, stage int) (train.StageResult, error) {
	progress := designer.Progress{Best: 1, Stages: []designer.Stage{{Score: 0.1}, {Score: 0.75}}}
	return train.StageResult{Stop: true, Progress: progress}, s.note("close stage %s %d", of(ref), stage)
}

func (s trainings) PlayTrial(_ context.Context, ref run.Ref, n int) error {
	return s.note("train trial %s %d", of(ref), n)
}

func (s trainings) Close(
	_ context.Context, ref run.Ref, code, reason string,
) (learning.TrainingResult, error) {
	return s.trained(), s.note("close training %s %s %s", of(ref), code, reason)
}

func (s *learningService) round() learning.Round {
	return learning.Round{
		Outcome: "promoted", Cases: make([]learning.MinedCase, 3),
		Comparison: &learning.Comparison{Comparison: designer.Comparison{Traces: 6, Mean: 0.5}},
	}
}

func (s rounds) Open(_ context.Context, ref run.Ref) (*learning.Round, error) {
	return unless(s.over, s.round()), s.note("open round %s", of(ref))
}

func (s rounds) Mine(_ context.Context, ref run.Ref) (int, error) {
	return 3, s.note("mine %s", of(ref))
}

func (s rounds) Design(_ context.Context, ref run.Ref) (int, error) {
	return s.trials, s.note("design %s", of(ref))
}

func (s rounds) PlayTrial(_ context.Context, ref run.Ref, n int) error {
	return s.note("trial %s %d", of(ref), n)
}

func (s rounds) Close(_ context.Context, ref run.Ref, code, reason string) (learning.Round, error) {
	return s.round(), s.note("close round %s %s %s", of(ref), code, reason)
}

func (s *learningService) adapted() live.AdaptationResult {
	return live.AdaptationResult{Outcome: "canary", Decisions: 9, Update: 2, Policy: "p"}
}

func (s updates) Open(_ context.Context, ref run.Ref) (int, *live.AdaptationResult, error) {
	return 9, unless(s.over, s.adapted()), s.note("open adapt %s", of(ref))
}

func (s updates) Adapt(_ context.Context, ref run.Ref) (int, error) {
	return 4, s.note("adapt %s", of(ref))
}

func (s updates) PlayTrial(_ context.Context, ref run.Ref, n int) error {
	return s.note("shadow trial %s %d", of(ref), n)
}

func (s updates) Close(_ context.Context, ref run.Ref, code, reason string) (live.AdaptationResult, error) {
	return s.adapted(), s.note("close adapt %s %s %s", of(ref), code, reason)
}

func (s *learningService) probed() live.ProbeResult {
	return live.ProbeResult{Outcome: run.Completed, Probes: 3, Scored: 2, Mean: 0.5}
}

func (s probes) Open(_ context.Context, ref run.Ref) (*live.ProbeResult, error) {
	return unless(s.over, s.probed()), s.note("open probe %s", of(ref))
}

func (s probes) Make(_ context.Context, ref run.Ref) (int, error) {
	return 3, s.note("make %s", of(ref))
}

func (s probes) Ask(_ context.Context, ref run.Ref, n int) error {
	return s.note("ask %s %d", of(ref), n)
}

func (s probes) Close(_ context.Context, ref run.Ref, code, reason string) (live.ProbeResult, error) {
	return s.probed(), s.note("close probe %s %s %s", of(ref), code, reason)
}

// Inputs that close runs, and their results.
var (
	closing   = contract.CloseInput{RunRef: runRef, Code: "cancelled", Reason: "asked"}
	buildWant = contract.BuildResult{Outcome: string(run.CompletedPartial), Spans: 5, Failed: 1, Added: 2, Updated: 1}
	trainWant = contract.TrainResult{
		Outcome: "completed", Version: 2, Policy: "p", Stages: 3, Iterations: 9, Best: 0.5,
	}
	trainingOpened = contract.OpenTrainingResult{Stages: 2, Iterations: 3, Episodes: 4, Parallel: 5, Trials: 2}
	evolveWant     = contract.EvolveResult{Outcome: "promoted", Cases: 3, Traces: 6, Mean: 0.5}
	adaptWant      = contract.AdaptResult{Outcome: "canary", Decisions: 9, Update: 2, Policy: "p"}
	probeWant      = contract.ProbeResult{Outcome: "completed", Probes: 3, Scored: 2, Mean: 0.5}
)

func TestBuildActivitiesTranslate(t *testing.T) {
	t.Parallel()
	s := &learningService{}
	a, c := skillsOf(s), &s.calls
	in := contract.BuildInput{RunRef: runRef}
	translates(t, a.OpenBuild, in, c, "open build 1/run_7", contract.OpenBuildResult{Spans: 5})
	translates(t, a.BuildSpan, contract.SpanInput{RunRef: runRef, Span: 4}, c, "span 1/run_7 4",
		contract.BuildSpanResult{Outcome: "ok", Done: 2, Refused: 1})
	translates(t, a.CloseBuild, closing, c, "close build 1/run_7 cancelled asked", buildWant)
	s.over = true
	translates(t, a.OpenBuild, in, c, "open build 1/run_7", contract.OpenBuildResult{Spans: 5, Ended: &buildWant})
}

func TestTrainActivitiesTranslate(t *testing.T) {
	t.Parallel()
	s := &learningService{}
	a, c := skillsOf(s), &s.calls
	in := contract.TrainInput{RunRef: runRef}
	stage := contract.StageInput{TrainInput: in, Stage: 1}
	iteration := contract.IterationInput{StageInput: stage, Iteration: 2}
	translates(t, a.OpenTraining, in, c, "open training 1/run_7", trainingOpened)
	calling(t, a.PlayEpisode, contract.EpisodeInput{IterationInput: iteration, Episode: 3}, c, "episode 1/run_7 1 2 3")
	translates(t, a.Learn, iteration, c, "learn 1/run_7 1 2", contract.IterationResult{Reward: 0.25, Policy: "p"})
	translates(t, a.CloseStage, stage, c, "close stage 1/run_7 1", contract.StageResult{Stop: true, Best: 0.75})
	calling(t, a.TrainTrial, contract.TrialInput{RunRef: runRef, Trial: 5}, c, "train trial 1/run_7 5")
	translates(t, a.CloseTraining, closing, c, "close training 1/run_7 cancelled asked", trainWant)
	s.over = true
	over := trainingOpened
	over.Ended = &trainWant
	translates(t, a.OpenTraining, in, c, "open training 1/run_7", over)
}

func TestEvolveActivitiesTranslate(t *testing.T) {
	t.Parallel()
	s := &learningService{}
	a, c := skillsOf(s), &s.calls
	in := contract.EvolveInput{RunRef: runRef}
	translates(t, a.OpenRound, in, c, "open round 1/run_7", contract.OpenRoundResult{})
	translates(t, a.MineRound, in, c, "mine 1/run_7", contract.MineRoundResult{Cases: 3})
	translates(t, a.DesignRound, in, c, "design 1/run_7", contract.DesignRoundResult{})
	calling(t, a.Trial, contract.TrialInput{RunRef: runRef, Trial: 5}, c, "trial 1/run_7 5")
	translates(t, a.CloseRound, closing, c, "close round 1/run_7 cancelled asked", evolveWant)
	s.over, s.trials = true, 6
	translates(t, a.DesignRound, in, c, "design 1/run_7", contract.DesignRoundResult{Trials: 6})
	translates(t, a.OpenRound, in, c, "open round 1/run_7", contract.OpenRoundResult{Ended: &evolveWant})
}

func TestAdaptActivitiesTranslate(t *testing.T) {
	t.Parallel()
	s := &learningService{}
	a, c := skillsOf(s), &s.calls
	in := contract.AdaptInput{RunRef: runRef}
	translates(t, a.OpenAdapt, in, c, "open adapt 1/run_7", contract.OpenAdaptResult{Decisions: 9})
	translates(t, a.AdaptPolicy, in, c, "adapt 1/run_7", contract.AdaptPolicyResult{Trials: 4})
	calling(t, a.ShadowTrial, contract.TrialInput{RunRef: runRef, Trial: 5}, c, "shadow trial 1/run_7 5")
	translates(t, a.CloseAdapt, closing, c, "close adapt 1/run_7 cancelled asked", adaptWant)
	s.over = true
	translates(t, a.OpenAdapt, in, c, "open adapt 1/run_7", contract.OpenAdaptResult{Decisions: 9, Ended: &adaptWant})
}

func TestProbeActivitiesTranslate(t *testing.T) {
	t.Parallel()
	s := &learningService{}
	a, c := skillsOf(s), &s.calls
	in := contract.ProbeInput{RunRef: runRef}
	translates(t, a.OpenProbe, in, c, "open probe 1/run_7", contract.OpenProbeResult{})
	translates(t, a.MakeProbes, in, c, "make 1/run_7", contract.MakeProbesResult{Probes: 3})
	calling(t, a.AskProbe, contract.AskInput{RunRef: runRef, Probe: 1}, c, "ask 1/run_7 1")
	translates(t, a.CloseProbe, closing, c, "close probe 1/run_7 cancelled asked", probeWant)
	s.over = true
	translates(t, a.OpenProbe, in, c, "open probe 1/run_7", contract.OpenProbeResult{Ended: &probeWant})
}
