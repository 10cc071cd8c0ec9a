package learning

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
)

// standing is what an iteration begins with.
type standing struct {
	bank      memoryskill.Bank
	fresh     []string
	policy    policy.Policy
	optimiser policy.Adam
	since     int // iterations since the new skills came
}

func (s *Service) trainSpec(ctx context.Context, tx Tx, ref run.Ref) (run.Run, TrainSpec, error) {
	r, err := tx.Runs().Run(ctx, ref.Run)
	if err != nil {
		return r, TrainSpec{}, err
	}
	spec, err := specOf[TrainSpec](r)
	return r, spec, err
}

// standing reads where a training is before an iteration: after the iteration
// before, else after the stage before, else at the version that it began on.
func (s *Service) standing(ctx context.Context, tx Tx, ref run.Ref, spec TrainSpec, stage, iteration int) (out standing, err error) {
	base, err := s.at(ctx, tx, BankRow{ID: spec.BankID, Name: spec.Bank}, spec.Base)
	if err != nil {
		return out, err
	}
	out = standing{bank: base.Bank, fresh: base.Version.Fresh, policy: base.Policy, optimiser: base.Optimiser, since: stage*spec.Iterations + iteration}
	if stage == 0 && iteration == 0 {
		return s.headed(out, spec)
	}
	var current, optimiser string
	if stage > 0 {
		var before Staged
		if found, err := tx.Training().Trained(ctx, ref.Run, stageStep(stage-1), &before); err != nil || !found {
			return out, missing(err, stageStep(stage-1))
		}
		if out.bank, err = before.Bank.Bank(); err != nil {
			return out, err
		}
		current, optimiser, out.fresh = before.Policy, before.Optimiser, before.Bank.Fresh
		out.since = (stage-max(0, before.Changed))*spec.Iterations + iteration
	}
	if iteration > 0 {
		var before IterationResult
		if found, err := tx.Training().Trained(ctx, ref.Run, iterationStep(stage, iteration-1), &before); err != nil || !found {
			return out, missing(err, iterationStep(stage, iteration-1))
		}
		current, optimiser = before.Policy, before.Optimiser
	}
	out.policy, out.optimiser, err = weights(ctx, tx, current, optimiser)
	return out, err
}

// headed gives a training the policy in force when it has the head that the recipe
// is about and fuses memories as it is told to, else one that does and has not
// learnt anything.
func (s *Service) headed(at standing, spec TrainSpec) (standing, error) {
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return at, err
	}
	has := at.policy.Shape()
	wanted, err := has.Fused(spec.Fuse, spec.Temperature)
	if err != nil {
		return at, err
	}
	of := recipe.Shape(has.Dim, has.Hidden)
	if of.Fuse, of.Temperature = wanted.Fuse, wanted.Temperature; of != has {
		at.optimiser = policy.Adam{}
		at.policy, err = s.fresh(spec.Recipe, spec.Bank, of)
	}
	return at, err
}

func missing(err error, step string) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("step %s has not been done", step)
}

// OpenTraining marks a run as picked up and takes its bank. Over is set when an
// earlier attempt has brought it to its end.
func (s *Service) OpenTraining(ctx context.Context, ref run.Ref) (spec TrainSpec, over *TrainingResult, err error) {
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		var r run.Run
		if r, spec, err = s.trainSpec(ctx, tx, ref); err != nil {
			return err
		}
		if r.Status == run.Ended {
			over = new(TrainingResult)
			return json.Unmarshal(r.Result, over)
		}
		if _, err := s.take(ctx, tx, spec.Bank, holderOf(ref), bankLease); err != nil {
			return err
		}
		for _, id := range slices.Concat(spec.Traces, spec.Held) {
			if err := tx.Decisions().ShownTo(ctx, ref.Run, id); err != nil {
				return err
			}
		}
		_, err := tx.Runs().StartRun(ctx, ref.Run)
		return err
	})
	return spec, over, err
}

// Episode plays one episode of an iteration. Which trace it is, and every draw in
// it, follow from the seed and its place alone.
func (s *Service) Episode(ctx context.Context, ref run.Ref, stage, iteration, episode int, beat func()) error {
	step := episodeStep(stage, iteration, episode)
	var spec TrainSpec
	var now standing
	var t Trace
	done := false
	key := keyedrand.Key{Stage: stage, Iteration: iteration, Episode: episode}
	err := s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) (err error) {
		if done, err = tx.Training().Trained(ctx, ref.Run, step, &json.RawMessage{}); err != nil || done {
			return err
		}
		if done, err = tx.Training().Trained(ctx, ref.Run, iterationStep(stage, iteration), &json.RawMessage{}); err != nil || done {
			return err
		}
		if _, spec, err = s.trainSpec(ctx, tx, ref); err != nil {
			return err
		}
		if now, err = s.standing(ctx, tx, ref, spec, stage, iteration); err != nil {
			return err
		}
		key.Run, key.Purpose = spec.Seed, "trace"
		draw := key.Stream()
		_, questions, err := s.traces(ctx, tx, spec.BankID)
		if err != nil {
			return err
		}
		id := spec.Traces[draw.IntN(len(spec.Traces))]
		t, err = s.trace(ctx, tx, id, sampled(questions[id], spec, stage, iteration), spec.Keeping.Spanning)
		return err
	})
	if err != nil || done {
		return err
	}
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return err
	}
	key.Purpose = ""
	p, err := s.player(ctx, playing{ref: ref, step: step, model: spec.Model, keeping: spec.Keeping, score: spec.Score, beat: beat, choose: func(span int) policy.Choice {
		key.Span = span
		return policy.Choice{K: spec.Keeping.K, Exploration: recipe.Exploration, Since: now.since, Key: key}
	}}, now.bank, now.policy, now.fresh)
	if err != nil {
		return err
	}
	played, err := p.play(ctx, t)
	if err != nil {
		return err
	}
	for i := range played.Episode.Decisions {
		played.Episode.Decisions[i].Policy, played.Episode.Decisions[i].Bank = now.policy.Hash(), now.bank.Hash()
	}
	return s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		return tx.Training().PutTrained(ctx, ref.Run, step, t.Conversation, played)
	})
}

// Learn updates the policy from the episodes of an iteration, in their order. The
// first result stays; an attempt that comes later finds it.
func (s *Service) Learn(ctx context.Context, ref run.Ref, stage, iteration int) (out IterationResult, err error) {
	var spec TrainSpec
	var now standing
	var episodes []EpisodeResult
	done := false
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		if done, err = tx.Training().Trained(ctx, ref.Run, iterationStep(stage, iteration), &out); err != nil || done {
			return err
		}
		if _, spec, err = s.trainSpec(ctx, tx, ref); err != nil {
			return err
		}
		if now, err = s.standing(ctx, tx, ref, spec, stage, iteration); err != nil {
			return err
		}
		for e := range spec.Episodes {
			var one EpisodeResult
			if found, err := tx.Training().Trained(ctx, ref.Run, episodeStep(stage, iteration, e), &one); err != nil || !found {
				return missing(err, episodeStep(stage, iteration, e))
			}
			episodes = append(episodes, one)
		}
		return nil
	})
	if err != nil || done {
		return out, err
	}
	out, current, optimiser, err := s.learn(ctx, spec, now, episodes, stage, iteration)
	if err != nil {
		return out, err
	}
	first := false
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		first = false
		if _, err := s.take(ctx, tx, spec.Bank, holderOf(ref), bankLease); err != nil { // keeps it
			return err
		}
		if done, err := tx.Training().Trained(ctx, ref.Run, iterationStep(stage, iteration), &out); err != nil || done {
			return err // another attempt was first: the lease has made this one wait for it
		}
		if err := keepWeights(ctx, tx, current, optimiser); err != nil {
			return err
		}
		if err := s.tally(ctx, tx, spec, episodes); err != nil {
			return err
		}
		if err := tx.Training().PutTrained(ctx, ref.Run, iterationStep(stage, iteration), 0, out); err != nil {
			return err
		}
		first = true
		return s.forget(ctx, tx, ref, stage, iteration, out)
	})
	if err == nil && first {
		s.report(ofTraining, out.Outcomes, "run", ref.Run, "stage", stage+1, "iteration", iteration+1)
	}
	return out, err
}

func (s *Service) learn(ctx context.Context, spec TrainSpec, now standing, episodes []EpisodeResult, stage, iteration int) (out IterationResult, current policy.Policy, optimiser policy.Adam, err error) {
	out = IterationResult{Stage: stage, Iteration: iteration}
	current, optimiser = now.policy, now.optimiser
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return out, current, optimiser, err
	}
	var played []policy.Episode
	n := 0.0
	for _, e := range episodes {
		played, out.Failed, out.Outcomes = append(played, e.Episode), out.Failed+e.Failed, out.Outcomes.plus(e.outcomes())
		if e.Known {
			out.Reward, n, out.Known = out.Reward+e.Reward, n+1, true
		}
	}
	out.Reward /= max(1, n)
	if out.Choice, err = policy.DiagnoseAll(played); err != nil {
		return out, current, optimiser, err
	}
	steps, err := recipe.Credit.Steps(played)
	if err != nil {
		return out, current, optimiser, err
	}
	if len(steps) > 0 && slices.ContainsFunc(steps, func(t policy.Step) bool { return t.Credited }) {
		candidates, err := s.candidates(ctx, now.bank, nil, current.Shape().Dim)
		if err != nil {
			return out, current, optimiser, err
		}
		vectors := map[string][]float64{}
		for _, c := range candidates {
			vectors[c.ID] = c.Vector
		}
		var report policy.Report
		current, optimiser, report, err = policy.Update(current, optimiser, steps, vectors, recipe.PPO, keyedrand.Key{Run: spec.Seed, Stage: stage, Iteration: iteration})
		if err != nil {
			return out, current, optimiser, err
		}
		out.Steps = report.Steps
	}
	out.Policy, out.Optimiser = current.Hash(), optimiser.Hash()
	return out, current, optimiser, nil
}

// tally counts what the episodes of an iteration show of each skill.
func (s *Service) tally(ctx context.Context, tx Tx, spec TrainSpec, played []EpisodeResult) error {
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return err
	}
	var episodes []policy.Episode
	for _, p := range played {
		episodes = append(episodes, p.Episode)
	}
	return s.observe(ctx, tx, spec.BankID, func(stats map[string]memoryskill.Stats) map[string]memoryskill.Stats {
		return memoryskill.Tally(stats, episodes, recipe.Credit.Name != policy.Provenance)
	})
}

// forget drops the weights that nothing goes back to: those of two iterations ago
// in the same stage.
func (s *Service) forget(ctx context.Context, tx Tx, ref run.Ref, stage, iteration int, now IterationResult) error {
	if iteration < 2 {
		return nil
	}
	var old, last IterationResult
	if found, err := tx.Training().Trained(ctx, ref.Run, iterationStep(stage, iteration-2), &old); err != nil || !found {
		return err
	}
	if _, err := tx.Training().Trained(ctx, ref.Run, iterationStep(stage, iteration-1), &last); err != nil {
		return err
	}
	keep := []string{now.Policy, now.Optimiser, last.Policy, last.Optimiser}
	if stage > 0 {
		var before Staged
		if _, err := tx.Training().Trained(ctx, ref.Run, stageStep(stage-1), &before); err != nil {
			return err
		}
		keep = append(keep, before.Policy, before.Optimiser)
		for _, st := range before.Progress.Stages {
			keep = append(keep, st.Snapshot.Policy, st.Snapshot.Optimiser)
		}
	}
	var drop []string
	for _, sha := range []string{old.Policy, old.Optimiser} {
		if !slices.Contains(keep, sha) {
			drop = append(drop, sha)
		}
	}
	return tx.BankContents().DropBlobs(ctx, drop)
}
