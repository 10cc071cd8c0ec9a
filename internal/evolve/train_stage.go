package evolve

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"cairn/internal/ledger"
	"cairn/internal/memskill"
	"cairn/internal/memskill/designer"
	"cairn/internal/run"
)

// CloseStage scores a stage, goes back to the best one when this was none, and
// has the designer edit the bank for the next.
func (s *Service) CloseStage(ctx context.Context, ref run.Ref, stage int, beat func()) (out Staged, err error) {
	var spec TrainSpec
	var now standing
	var before Staged
	rewards, failures := []float64{}, map[int64]Case{}
	traces := map[int64]Trace{}
	var played []Played
	var stats map[string]memskill.Stats
	done := false
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(tx Tx) error {
		if done, err = tx.Trained(ctx, ref.Run, stageStep(stage), &out); err != nil || done {
			return err
		}
		if _, spec, err = s.trainSpec(ctx, tx, ref); err != nil {
			return err
		}
		if now, err = s.standing(ctx, tx, ref, spec, stage, spec.Iterations); err != nil {
			return err
		}
		if stage > 0 {
			if _, err := tx.Trained(ctx, ref.Run, stageStep(stage-1), &before); err != nil {
				return err
			}
		}
		for i := range spec.Iterations {
			var one Iterated
			if found, err := tx.Trained(ctx, ref.Run, iterationStep(stage, i), &one); err != nil || !found {
				return missing(err, iterationStep(stage, i))
			}
			if one.Known {
				rewards = append(rewards, one.Reward)
			}
		}
		if !spec.Design {
			return nil
		}
		if stats, err = tx.SkillStats(ctx, spec.BankID); err != nil {
			return err
		}
		_, questions, err := s.traces(ctx, tx, spec.BankID)
		if err != nil {
			return err
		}
		for _, id := range spec.Traces {
			if traces[id], err = s.trace(ctx, tx, id, questions[id], spec.Keeping.Spanning); err != nil {
				return err
			}
			for _, q := range questions[id] {
				failures[q.ID] = q
			}
		}
		raw, err := tx.TrainedUnder(ctx, ref.Run, fmt.Sprintf("episode/%04d/%05d/", stage, spec.Iterations-1))
		if err != nil {
			return err
		}
		for _, step := range slices.Sorted(maps.Keys(raw)) {
			var one Played
			if err := json.Unmarshal(raw[step], &one); err != nil {
				return err
			}
			played = append(played, one)
		}
		return nil
	})
	if err != nil || done {
		return out, err
	}
	recipe, err := memskill.NewRecipe(spec.Recipe)
	if err != nil {
		return out, err
	}
	snapshot := memskill.Bind(now.bank, now.policy, now.optimiser)
	progress, verdict := before.Progress.Close(designer.Stage{Snapshot: snapshot, Score: designer.DefaultScoring().Of(rewards)}, designer.Limits{Evolutions: recipe.Evolutions, Patience: recipe.Patience})
	out = Staged{Progress: progress, Stop: verdict.Stop || stage == spec.Stages-1, Changed: before.Changed, Failed: before.Failed,
		Kept: append(slices.Clip(before.Kept), Keepsake{snapshot.Hash, Candidate{Members: now.bank.Versions(), Capacity: now.bank.Capacity(), Fresh: now.fresh}})}
	if stage == 0 {
		out.Changed = -1
	}
	if before.Pending != "" && !verdict.Improved {
		out.Failed = append(slices.Clip(out.Failed), before.Pending)
	} else if verdict.Improved {
		out.Failed = nil
	}
	for _, k := range out.Kept {
		if k.Snapshot == verdict.Restore.Hash {
			out.Bank = k.Bank
		}
	}
	out.Policy, out.Optimiser = verdict.Restore.Policy, verdict.Restore.Optimiser
	if spec.Design && !out.Stop {
		if err := s.evolveStage(ctx, ref, spec, recipe, stage, traces, failures, played, stats, beat, &out); err != nil {
			return out, err
		}
	}
	return out, s.Store.WithEvolve(ctx, ref.Workspace, func(tx Tx) error {
		if _, err := s.take(ctx, tx, spec.Bank, holderOf(ref), bankLease); err != nil {
			return err
		}
		if err := tx.PutTrained(ctx, ref.Run, stageStep(stage), 0, out); err != nil {
			return err
		}
		return tx.DropTrained(ctx, ref.Run, fmt.Sprintf("episode/%04d/", stage)) // what was learnt from them stays
	})
}

// evolveStage is a designer round inside of a training: what came of it is judged
// by the next stage. A model that gives nothing of use leaves the bank as it is.
func (s *Service) evolveStage(ctx context.Context, ref run.Ref, spec TrainSpec, recipe memskill.Recipe, stage int, traces map[int64]Trace, questions map[int64]Case, played []Played, stats map[string]memskill.Stats, beat func(), out *Staged) error {
	var hard []Case
	retrieved, items := map[string][]string{}, map[string][]string{}
	for _, e := range played {
		for _, a := range e.Asked {
			c, known := questions[a.Case]
			if !known || !a.Scored || a.Score >= wellAnswered || retrieved[c.Key] != nil {
				continue
			}
			c.Prediction, c.Score, c.Failures, c.Iteration = "", a.Score, max(1, c.Failures), stage
			hard = append(hard, c)
			retrieved[c.Key], items[c.Key] = append([]string{}, a.Retrieved...), e.Items
		}
	}
	if len(hard) == 0 {
		return nil
	}
	bank, err := out.Bank.Bank()
	if err != nil {
		return err
	}
	mined, err := s.mine(ctx, hard, traces, func(c Case) []string { return items[c.Key] }, func(c Case) []string { return retrieved[c.Key] }, recipe)
	if err != nil {
		return err
	}
	d := designing{ref: ref, step: fmt.Sprintf("design/%04d", stage), model: spec.Model, lang: traces[hard[0].Conversation].Lang, recipe: recipe, bank: bank, mined: mined, failed: out.Failed, stats: stats, beat: beat}
	analysis, err := s.diagnose(ctx, d)
	if err == nil {
		var candidate *Candidate
		if _, candidate, err = s.propose(ctx, d, analysis); err == nil && candidate != nil {
			out.Bank, out.Changed, out.Pending = *candidate, stage+1, edits(candidate)
			out.Progress = out.Progress.Evolved(out.Pending, nil)
		}
	}
	if f, over := ledger.Hopeless(err); over {
		out.Note = f.Error()
		return nil
	}
	return err
}
