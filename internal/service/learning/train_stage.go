package learning

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/run"
	"cairn/internal/service/ledger"
)

// CloseStage scores a stage, goes back to the best one when this was none, and
// has the designer edit the bank for the next.
func (s *Service) CloseStage(ctx context.Context, ref run.Ref, stage int, beat func()) (out Staged, err error) {
	var spec TrainSpec
	var now standing
	var before Staged
	rewards := []float64{}
	var outcomes Outcomes
	traces := map[int64]Trace{}
	var hard hardCases
	var stats map[string]memoryskill.Stats
	done := false
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		if done, err = tx.Training().Trained(ctx, ref.Run, stageStep(stage), &out); err != nil || done {
			return err
		}
		if _, spec, err = s.trainSpec(ctx, tx, ref); err != nil {
			return err
		}
		if now, err = s.standing(ctx, tx, ref, spec, stage, spec.Iterations); err != nil {
			return err
		}
		if stage > 0 {
			if _, err := tx.Training().Trained(ctx, ref.Run, stageStep(stage-1), &before); err != nil {
				return err
			}
		}
		for i := range spec.Iterations {
			var one IterationResult
			if found, err := tx.Training().Trained(ctx, ref.Run, iterationStep(stage, i), &one); err != nil || !found {
				return missing(err, iterationStep(stage, i))
			}
			if outcomes = outcomes.plus(one.Outcomes); one.Known && !one.Outcomes.Useless() { // few questions stand for nothing
				rewards = append(rewards, one.Reward)
			}
		}
		if !spec.Design {
			return nil
		}
		if stats, err = tx.BankContents().SkillStats(ctx, spec.BankID); err != nil {
			return err
		}
		_, questions, err := s.traces(ctx, tx, spec.BankID)
		if err != nil {
			return err
		}
		known := map[int64]Case{}
		for _, id := range spec.Traces {
			if traces[id], err = s.trace(ctx, tx, id, questions[id], spec.Keeping.Spanning); err != nil {
				return err
			}
			for _, q := range questions[id] {
				known[q.ID] = q
			}
		}
		hard, err = s.hard(ctx, tx, ref, spec, stage, before.Hard, known)
		return err
	})
	if err != nil || done {
		return out, err
	}
	if len(rewards) == 0 { // an outage is no low score: it would be held against the bank's last edit
		return out, fault.New(fault.ModelRejected, fmt.Sprintf("no iteration of stage %d can be scored: %d of %d outcomes are masked, since model calls had no answer", stage+1, outcomes.Masked, outcomes.Of), "cairn runs show tells what the endpoint says; mend it and train again")
	}
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return out, err
	}
	changed, fresh := before.Changed, now.fresh
	if stage == 0 {
		changed = -1
	}
	if now.since >= recipe.Exploration.Window { // they are not new any more
		fresh = nil
	}
	snapshot := memoryskill.Bind(now.bank, now.policy, now.optimiser)
	progress, verdict := before.Progress.Close(designer.Stage{Snapshot: snapshot, Score: designer.DefaultScoring().Of(rewards)}, designer.Limits{Evolutions: recipe.Evolutions, Patience: recipe.Patience})
	out = Staged{Progress: progress, Stop: verdict.Stop || stage == spec.Stages-1, Failed: before.Failed, Hard: hard.held,
		Kept: append(slices.Clip(before.Kept), BankSnapshot{snapshot.Hash, Candidate{Members: now.bank.Versions(), Capacity: now.bank.Capacity(), Fresh: fresh}, changed})}
	if before.Pending != "" && !verdict.Improved {
		out.Failed = append(slices.Clip(out.Failed), before.Pending)
	} else if verdict.Improved {
		out.Failed = nil
	}
	for _, k := range out.Kept {
		if k.Snapshot == verdict.Restore.Hash {
			out.Bank, out.Changed = k.Bank, k.Changed
		}
	}
	out.Policy, out.Optimiser = verdict.Restore.Policy, verdict.Restore.Optimiser
	if spec.Design && !out.Stop {
		if err := s.evolveStage(ctx, ref, spec, recipe, stage, traces, hard, verdict.Cases, stats, beat, &out); err != nil {
			return out, err
		}
	}
	return out, s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		if _, err := s.take(ctx, tx, spec.Bank, holderOf(ref), bankLease); err != nil {
			return err
		}
		if err := tx.Training().PutTrained(ctx, ref.Run, stageStep(stage), 0, out); err != nil {
			return err
		}
		return tx.Training().DropTrained(ctx, ref.Run, fmt.Sprintf("episode/%04d/", stage)) // what was learnt from them stays
	})
}

// evolveStage is a designer round inside of a training: what came of it is judged
// by the next stage. After a step back it looks at the cases again that the best
// stage was to mend. A model that gives nothing of use leaves the bank as it is.
func (s *Service) evolveStage(ctx context.Context, ref run.Ref, spec TrainSpec, recipe memoryskill.Recipe, stage int, traces map[int64]Trace, hard hardCases, again []string, stats map[string]memoryskill.Stats, beat func(), out *Staged) error {
	cases := hard.among(again)
	if len(cases) == 0 {
		return nil
	}
	bank, err := out.Bank.Bank()
	if err != nil {
		return err
	}
	mined, err := s.mine(ctx, cases, traces, func(c Case) []string { return hard.items[c.Key] }, func(c Case) []string { return hard.retrieved[c.Key] }, recipe)
	if err != nil {
		return err
	}
	d := designing{ref: ref, step: fmt.Sprintf("design/%04d", stage), model: spec.Model, lang: spoken(mined), recipe: recipe, bank: bank, mined: mined, failed: out.Failed, stats: stats, beat: beat}
	analysis, err := s.diagnose(ctx, d)
	if err == nil {
		var candidate *Candidate
		if _, candidate, err = s.propose(ctx, d, analysis); err == nil && candidate != nil {
			out.Bank, out.Changed, out.Pending = *candidate, stage+1, edits(candidate)
			out.Progress = out.Progress.Evolved(out.Pending, keysOf(cases, mined))
		}
	}
	if f, over := ledger.IsPermanent(err); over {
		out.Note = f.Error()
		return nil
	}
	return err
}

// keysOf are the keys of mined cases.
func keysOf(cases []Case, mined []Mined) (keys []string) {
	for _, m := range mined {
		for _, c := range cases {
			if c.ID == m.Case {
				keys = append(keys, c.Key)
			}
		}
	}
	return keys
}
