package train

import (
	"context"
	"slices"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Learn updates the policy from the episodes of an iteration, in order. The first stored result is
// kept; later attempts return it.
func (s *Training) Learn(ctx context.Context, ref run.Ref, stage, iteration int) (out IterationResult, err error) {
	var spec Spec
	var now state
	var episodes []bank.EpisodeResult
	done := false
	step := iterationStep(stage, iteration)
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		if out, done, err = bank.ReadStep[IterationResult](ctx, tx, ref.Run, step); err != nil || done {
			return err
		}
		if _, spec, err = readSpec(ctx, tx, ref); err != nil {
			return err
		}
		if now, err = s.readState(ctx, tx, ref, spec, stage, iteration); err != nil {
			return err
		}
		for e := range spec.Episodes {
			one, err := bank.NeedStep[bank.EpisodeResult](ctx, tx, ref.Run, episodeStep(stage, iteration, e))
			if err != nil {
				return err
			}
			episodes = append(episodes, one)
		}
		return nil
	})
	if err != nil || done {
		return out, err
	}
	now, out, err = s.update(ctx, spec, now, episodes, IterationResult{Stage: stage, Iteration: iteration})
	if err != nil {
		return out, err
	}
	first := false
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		out, first, err = s.storeIteration(ctx, tx, ref, spec, now, episodes, out)
		return err
	})
	if err == nil && first {
		bank.Report(s.ports.Log, bank.Training, out.Outcomes, "run", ref.Run, "stage", stage+1, "iteration",
			iteration+1)
	}
	return out, err
}

// storeIteration stores the result of an iteration with its weights. If another attempt was first,
// it returns that result.
func (s *Training) storeIteration(ctx context.Context, tx store.Tx, ref run.Ref, spec Spec, after state,
	episodes []bank.EpisodeResult, out IterationResult) (stored IterationResult, first bool, err error) {
	if err := s.ports.Banks.HoldLease(ctx, tx, ref, spec.Bank); err != nil { // also serializes concurrent attempts
		return out, false, err
	}
	step := iterationStep(out.Stage, out.Iteration)
	before, done, err := bank.ReadStep[IterationResult](ctx, tx, ref.Run, step)
	if err != nil || done {
		return before, false, err
	}
	if err := s.ports.Banks.StoreWeights(ctx, tx, after.policy, after.optimizer); err != nil {
		return out, false, err
	}
	if err := s.countEpisodes(ctx, tx, spec, episodes); err != nil {
		return out, false, err
	}
	if err := bank.SaveStep(ctx, tx, ref.Run, step, 0, out); err != nil {
		return out, false, err
	}
	return out, true, s.dropOldWeights(ctx, tx, ref, out)
}

// update computes the policy after an iteration, and adds the results to out.
func (s *Training) update(ctx context.Context, spec Spec, now state, episodes []bank.EpisodeResult,
	out IterationResult) (state, IterationResult, error) {
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return now, out, err
	}
	var played []policy.Episode
	n := 0.0
	for _, e := range episodes {
		played, out.Failed = append(played, e.Episode), out.Failed+e.Failed
		out.Outcomes = out.Outcomes.Plus(e.Outcomes())
		if e.Known {
			out.Reward, n, out.Known = out.Reward+e.Reward-e.Cost, n+1, true
		}
	}
	out.Reward /= max(1, n)
	if out.Choice, err = policy.DiagnoseAll(played); err != nil {
		return now, out, err
	}
	steps, err := recipe.Credit.Steps(played)
	if err != nil {
		return now, out, err
	}
	if slices.ContainsFunc(steps, func(t policy.Step) bool { return t.Credited }) {
		vectors, err := s.ports.Encoder.Skills(ctx, now.bank.Versions(), now.policy)
		if err != nil {
			return now, out, err
		}
		var report policy.Report
		now.policy, now.optimizer, report, err = s.ports.Controller.Update(now.policy, now.optimizer, policy.Batch{
			Steps: steps, Vectors: vectors, PPO: recipe.PPO,
			Key: keyedrand.Key{Run: spec.Seed, Stage: out.Stage, Iteration: out.Iteration}})
		if err != nil {
			return now, out, err
		}
		out.Steps = report.Steps
	}
	out.Policy, out.Optimizer = now.policy.Hash(), now.optimizer.Hash()
	return now, out, nil
}

// countEpisodes updates the statistics of skills with the episodes of an iteration.
func (s *Training) countEpisodes(ctx context.Context, tx store.Tx, spec Spec, played []bank.EpisodeResult) error {
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return err
	}
	var episodes []policy.Episode
	for _, p := range played {
		episodes = append(episodes, p.Episode)
	}
	return bank.UpdateStats(ctx, tx, spec.BankID,
		func(stats map[string]memoryskill.Stats) map[string]memoryskill.Stats {
			return memoryskill.Tally(stats, episodes, recipe.Credit.Name != policy.Provenance)
		})
}

// dropOldWeights drops the weights of two iterations ago in the same stage, which are no longer
// needed.
func (s *Training) dropOldWeights(ctx context.Context, tx store.Tx, ref run.Ref, now IterationResult) error {
	if now.Iteration < 2 {
		return nil
	}
	read := func(iteration int) (IterationResult, bool, error) {
		return bank.ReadStep[IterationResult](ctx, tx, ref.Run, iterationStep(now.Stage, iteration))
	}
	old, found, err := read(now.Iteration - 2)
	if err != nil || !found {
		return err
	}
	last, _, err := read(now.Iteration - 1)
	if err != nil {
		return err
	}
	keep := []string{now.Policy, now.Optimizer, last.Policy, last.Optimizer}
	if now.Stage > 0 {
		before, _, err := bank.ReadStep[StageResult](ctx, tx, ref.Run, stageStep(now.Stage-1))
		if err != nil {
			return err
		}
		keep = append(keep, before.Policy, before.Optimizer)
		for _, st := range before.Progress.Stages {
			keep = append(keep, st.Snapshot.Policy, st.Snapshot.Optimizer)
		}
	}
	var drop []string
	for _, sha := range []string{old.Policy, old.Optimizer} {
		if !slices.Contains(keep, sha) {
			drop = append(drop, sha)
		}
	}
	return tx.Banks().DropBlobs(ctx, drop)
}
