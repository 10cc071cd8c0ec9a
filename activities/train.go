package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	flow "cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/evolve"
)

// RegisterBatch makes w host the steps that compute.
func (a MemorySkills) RegisterBatch(w worker.ActivityRegistry) {
	register(w, flow.PlayEpisode, a.PlayEpisode)
	register(w, flow.Learn, a.Learn)
	register(w, flow.CloseStage, a.CloseStage)
	register(w, flow.TrainTrial, a.TrainTrial)
	register(w, flow.MineRound, a.MineRound)
	register(w, flow.DesignRound, a.DesignRound)
	register(w, flow.Trial, a.Trial)
	register(w, flow.AdaptPolicy, a.AdaptPolicy)
	register(w, flow.ShadowTrial, a.ShadowTrial)
}

// OpenTraining takes a bank for a training, or says that another has it.
func (a MemorySkills) OpenTraining(ctx context.Context, in flow.TrainInput) (out flow.TrainingOpened, err error) {
	spec, over, err := a.Service.OpenTraining(ctx, ref(in.RunRef))
	if fault.CodeOf(err) == fault.Unavailable { // its turn will come
		return out, benign(err, string(fault.Unavailable), 0)
	}
	if err != nil {
		return out, temporalError(err)
	}
	out = flow.TrainingOpened{Stages: spec.Stages, Iterations: spec.Iterations, Episodes: spec.Episodes, Parallel: spec.Parallel, Trials: len(spec.Held)}
	if over != nil {
		ended := trained(*over)
		out.Ended = &ended
	}
	return out, nil
}

// PlayEpisode plays one episode.
func (a MemorySkills) PlayEpisode(ctx context.Context, in flow.EpisodeInput) error {
	defer beat(ctx)()
	return temporalError(a.Service.Episode(ctx, ref(in.RunRef), in.Stage, in.Iteration, in.Episode, func() {}))
}

// Learn updates the policy from an iteration's episodes.
func (a MemorySkills) Learn(ctx context.Context, in flow.IterationInput) (flow.IterationResult, error) {
	defer beat(ctx)()
	out, err := a.Service.Learn(ctx, ref(in.RunRef), in.Stage, in.Iteration)
	return flow.IterationResult{Reward: out.Reward, Policy: out.Policy}, temporalError(err)
}

// CloseStage scores a stage and prepares the next.
func (a MemorySkills) CloseStage(ctx context.Context, in flow.StageInput) (out flow.StageResult, err error) {
	defer beat(ctx)()
	staged, err := a.Service.CloseStage(ctx, ref(in.RunRef), in.Stage, func() {})
	if err != nil {
		return out, temporalError(err)
	}
	return flow.StageResult{Stop: staged.Stop, Best: staged.Progress.Stages[staged.Progress.Best].Score}, nil
}

// TrainTrial plays a held-out conversation with what was trained and with what is
// in force.
func (a MemorySkills) TrainTrial(ctx context.Context, in flow.TrialInput) error {
	defer beat(ctx)()
	return temporalError(a.Service.TrainTrial(ctx, ref(in.RunRef), in.Trial, func() {}))
}

// CloseTraining promotes what was best, if it is better, and ends the run.
func (a MemorySkills) CloseTraining(ctx context.Context, in flow.CloseInput) (flow.TrainResult, error) {
	out, err := a.Service.CloseTraining(ctx, ref(in.RunRef), in.Code, in.Reason)
	return trained(out), temporalError(err)
}

func trained(t evolve.TrainedTo) flow.TrainResult {
	return flow.TrainResult{Outcome: string(t.Outcome), Version: t.Version, Policy: t.Policy, Stages: t.Stages, Iterations: t.Iterations, Best: t.Best}
}
