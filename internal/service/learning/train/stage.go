package train

import (
	"context"
	"fmt"
	"slices"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// stage is the working data of a stage that ends.
type stage struct {
	number   int
	spec     Spec
	recipe   memoryskill.Recipe
	now      state
	before   StageResult // of the previous stage
	rewards  []float64   // of iterations with enough scores
	outcomes learning.EpisodeOutcomes
	traces   map[int64]bank.EpisodeTrace // with Design, like the following fields
	hard     hardCases
	stats    map[string]memoryskill.Stats
}

// CloseStage scores a stage and returns to the best one if needed. With Design, the designer then
// edits the bank for the next stage.
func (s *Training) CloseStage(ctx context.Context, ref run.Ref, number int) (out StageResult, err error) {
	var st stage
	done := false
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		if out, done, err = bank.ReadStep[StageResult](ctx, tx, ref.Run, stageStep(number)); err != nil || done {
			return err
		}
		st, err = s.readStage(ctx, tx, ref, number)
		return err
	})
	if err != nil || done {
		return out, err
	}
	if len(st.rewards) == 0 { // an outage must not be attributed to the last edit of the bank
		return out, fault.New(fault.ModelRejected, fmt.Sprintf("stage %d has no scored iteration: "+
			"%d of %d outcomes are masked, because model calls failed", number+1, st.outcomes.Masked,
			st.outcomes.Of), "fix the model endpoint (run `cairn runs show RUN` for its errors), then train again")
	}
	out, again := st.close()
	if st.spec.Design && !out.Stop {
		if err := s.design(ctx, ref, st, again, &out); err != nil {
			return out, err
		}
	}
	return out, s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		if err := s.ports.Banks.HoldLease(ctx, tx, ref, st.spec.Bank); err != nil {
			return err
		}
		if err := bank.SaveStep(ctx, tx, ref.Run, stageStep(number), 0, out); err != nil {
			return err
		}
		// The results learned from them are kept.
		return tx.Training().DropStepResults(ctx, ref.Run, fmt.Sprintf("episode/%04d/", number))
	})
}

// readStage reads the results of a stage.
func (s *Training) readStage(ctx context.Context, tx store.Tx, ref run.Ref, number int) (st stage, err error) {
	st.number = number
	if _, st.spec, err = readSpec(ctx, tx, ref); err != nil {
		return st, err
	}
	if st.recipe, err = memoryskill.NewRecipe(st.spec.Recipe); err != nil {
		return st, err
	}
	if st.now, err = s.readState(ctx, tx, ref, st.spec, number, st.spec.Iterations); err != nil {
		return st, err
	}
	if number > 0 {
		if st.before, err = bank.NeedStep[StageResult](ctx, tx, ref.Run, stageStep(number-1)); err != nil {
			return st, err
		}
	}
	for i := range st.spec.Iterations {
		one, err := bank.NeedStep[IterationResult](ctx, tx, ref.Run, iterationStep(number, i))
		if err != nil {
			return st, err
		}
		st.outcomes = st.outcomes.Plus(one.Outcomes)
		if one.Known && !one.Outcomes.Useless() { // a few questions are not representative
			st.rewards = append(st.rewards, one.Reward)
		}
	}
	if !st.spec.Design {
		return st, nil
	}
	if st.stats, err = tx.Banks().SkillStats(ctx, st.spec.BankID); err != nil {
		return st, err
	}
	return st, st.readTraces(ctx, tx, ref)
}

// readTraces reads the conversations of a training and the failures in them.
func (st *stage) readTraces(ctx context.Context, tx store.Tx, ref run.Ref) error {
	_, questions, err := bank.ByConversation(ctx, tx, st.spec.BankID)
	if err != nil {
		return err
	}
	known := map[int64]learning.Case{}
	st.traces = map[int64]bank.EpisodeTrace{}
	for _, id := range st.spec.Traces {
		st.traces[id], err = bank.ReadEpisodeTrace(ctx, tx, id, questions[id], st.spec.Keeping.Spanning)
		if err != nil {
			return err
		}
		for _, q := range questions[id] {
			known[q.ID] = q
		}
	}
	st.hard, err = readHardCases(ctx, tx, ref, st.spec, st.number, st.before.Hard, known)
	return err
}

// close scores the stage and returns the state for the next one. After a return to the best stage,
// again contains the keys of its cases.
func (st *stage) close() (out StageResult, again []string) {
	changed, fresh, before := st.before.Changed, st.now.fresh, st.before
	if st.number == 0 {
		changed = -1
	}
	if st.now.since >= st.recipe.Exploration.Window { // the skills are no longer new
		fresh = nil
	}
	snapshot := memoryskill.Bind(st.now.bank, st.now.policy, st.now.optimizer)
	progress, verdict := before.Progress.Close(
		designer.Stage{Snapshot: snapshot, Score: designer.DefaultScoring().Of(st.rewards)},
		designer.Limits{Evolutions: st.recipe.Evolutions, Patience: st.recipe.Patience})
	current := learning.BankCandidate{Members: st.now.bank.Versions(), Capacity: st.now.bank.Capacity(), Fresh: fresh}
	out = StageResult{Progress: progress, Stop: verdict.Stop || st.number == st.spec.Stages-1, Failed: before.Failed,
		Hard: st.hard.buffer,
		Kept: append(slices.Clip(before.Kept), BankSnapshot{snapshot.Hash, current, changed})}
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
	out.Policy, out.Optimizer = verdict.Restore.Policy, verdict.Restore.Optimizer
	return out, verdict.Cases
}
