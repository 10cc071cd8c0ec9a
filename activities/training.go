package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/train"
)

// TrainService trains policies.
type TrainService interface {
	Open(ctx context.Context, ref run.Ref) (spec train.Spec, over *learning.TrainingResult, err error)
	PlayEpisode(ctx context.Context, ref run.Ref, stage, iteration, episode int) error
	Learn(ctx context.Context, ref run.Ref, stage, iteration int) (train.IterationResult, error)
	CloseStage(ctx context.Context, ref run.Ref, stage int) (train.StageResult, error)
	PlayTrial(ctx context.Context, ref run.Ref, n int) error
	Close(ctx context.Context, ref run.Ref, code, reason string) (learning.TrainingResult, error)
}

// RegisterBatch registers the steps that compute.
func (a MemorySkills) RegisterBatch(w worker.ActivityRegistry) {
	table{
		contract.PlayEpisode: a.PlayEpisode,
		contract.Learn:       a.Learn,
		contract.CloseStage:  a.CloseStage,
		contract.TrainTrial:  a.TrainTrial,
		contract.MineRound:   a.MineRound,
		contract.DesignRound: a.DesignRound,
		contract.Trial:       a.Trial,
		contract.AdaptPolicy: a.AdaptPolicy,
		contract.ShadowTrial: a.ShadowTrial,
	}.register(w)
}

// OpenTraining claims a bank for a training. It fails if another run holds it.
func (a MemorySkills) OpenTraining(ctx context.Context, in contract.TrainInput) (contract.OpenTrainingResult, error) {
	spec, over, err := a.Trainings.Open(ctx, in.Ref())
	return contract.OpenTrainingResult{
		Stages: spec.Stages, Iterations: spec.Iterations, Episodes: spec.Episodes, Parallel: spec.Parallel,
		Trials: len(spec.Held), Ended: encoded(over, trainResult),
	}, queueError(err)
}

// PlayEpisode runs one episode.
func (a MemorySkills) PlayEpisode(ctx context.Context, in contract.EpisodeInput) error {
	defer heartbeat(ctx)()
	return temporalError(a.Trainings.PlayEpisode(
		ctx, in.Ref(), in.Stage, in.Iteration, in.Episode))
}

// Learn updates the policy with an iteration's episodes.
func (a MemorySkills) Learn(ctx context.Context, in contract.IterationInput) (contract.IterationResult, error) {
	defer heartbeat(ctx)()
	out, err := a.Trainings.Learn(ctx, in.Ref(), in.Stage, in.Iteration)
	return contract.IterationResult{Reward: out.Reward, Policy: out.Policy}, temporalError(err)
}

// CloseStage scores a stage and prepares the next.
func (a MemorySkills) CloseStage(ctx context.Context, in contract.StageInput) (out contract.StageResult, err error) {
	defer heartbeat(ctx)()
	staged, err := a.Trainings.CloseStage(ctx, in.Ref(), in.Stage)
	if err != nil {
		return out, temporalError(err)
	}
	return contract.StageResult{Stop: staged.Stop, Best: staged.Progress.Stages[staged.Progress.Best].Score}, nil
}

// TrainTrial runs a held-out conversation with the trained snapshot and with the active one.
func (a MemorySkills) TrainTrial(ctx context.Context, in contract.TrialInput) error {
	defer heartbeat(ctx)()
	return temporalError(a.Trainings.PlayTrial(ctx, in.Ref(), in.Trial))
}

// CloseTraining promotes the best snapshot, if it is better, and closes the run.
func (a MemorySkills) CloseTraining(ctx context.Context, in contract.CloseInput) (contract.TrainResult, error) {
	out, err := a.Trainings.Close(ctx, in.Ref(), in.Code, in.Reason)
	return trainResult(out), temporalError(err)
}

func trainResult(t learning.TrainingResult) contract.TrainResult {
	return contract.TrainResult{
		Outcome: string(t.Outcome), Version: t.Version, Policy: t.Policy,
		Stages: t.Stages, Iterations: t.Iterations, Best: t.Best,
	}
}
