package live

import (
	"context"
	"slices"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// policyResult is the new policy of an update.
type policyResult struct {
	Policy    string              `json:"policy"`
	Optimizer string              `json:"optimizer"`
	Decisions int                 `json:"decisions"`
	Alike     float64             `json:"alike"` // share of decisions for which both policies choose the same skills
	OffPolicy *learning.OffPolicy `json:"off_policy,omitempty"`
	Report    *policy.Report      `json:"report,omitempty"`
}

// lesson is the input of an update, read from the database.
type lesson struct {
	spec    AdaptationSpec
	basis   basis
	head    bank.Head // version on which the update is based, with the policy from which it continues
	episode policy.Episode
	skills  []memoryskill.Version // skills that the decisions could choose
}

// Adapt learns from the decisions of an update. It returns the number of held-out conversations to
// try the policy on. The first stored result is kept.
func (s *Adaptation) Adapt(ctx context.Context, ref run.Ref) (trials int, err error) {
	var l lesson
	done := false
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		if l, err = s.readLesson(ctx, tx, ref); err == nil {
			done, err = bank.IsDone(ctx, tx, ref.Run, policyStep)
		}
		return err
	})
	if err != nil || done {
		return len(l.basis.Held), err
	}
	out, current, optimizer, err := s.learn(ctx, l)
	if err != nil {
		return 0, err
	}
	return len(l.basis.Held), s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context,
		tx store.Tx) error {
		if err := s.ports.Banks.HoldLease(ctx, tx, ref, l.spec.Bank); err != nil {
			return err
		}
		if done, err := bank.IsDone(ctx, tx, ref.Run, policyStep); err != nil || done {
			return err
		}
		if err := s.ports.Banks.StoreWeights(ctx, tx, current, optimizer); err != nil {
			return err
		}
		if out.Decisions > 0 {
			u := learning.Update{Run: ref.Run, Base: l.basis.Base, Policy: out.Policy, Optimizer: out.Optimizer,
				Decisions: out.Decisions, Shadow: learning.Shadow{Alike: out.Alike, OffPolicy: out.OffPolicy}}
			if _, err := tx.Updates().PutUpdate(ctx, l.spec.BankID, u); err != nil {
				return err
			}
		}
		return bank.SaveStep(ctx, tx, ref.Run, policyStep, 0, out)
	})
}

// readLesson reads the decisions of an update. It skips decisions that were erased, and those from
// which the policy cannot learn.
func (s *Adaptation) readLesson(ctx context.Context, tx store.Tx, ref run.Ref) (l lesson, err error) {
	if l.spec, l.basis, l.head, err = s.read(ctx, tx, ref); err != nil {
		return l, err
	}
	if w := l.basis.Start; w != nil {
		if l.head.Policy, l.head.Optimizer, err = s.ports.Banks.ReadWeights(
			ctx,
			tx,
			w.Policy,
			w.Optimizer,
		); err != nil {
			return l, err
		}
	}
	l.episode.Queries = l.basis.Queries
	var ids []string
	for _, id := range l.basis.Decisions {
		d, found, err := tx.Decisions().DecisionAt(ctx, id)
		if err != nil {
			return l, err
		}
		if !found || !s.ports.Controller.Accepts(l.head.Policy, d.Choice.Decision) {
			continue
		}
		if !d.Answered() {
			l.episode.Lost = append(l.episode.Lost, d.ID)
		}
		l.episode.Decisions = append(l.episode.Decisions, d.Choice.Decision)
		ids = append(ids, d.Choice.Candidates...)
	}
	slices.Sort(ids)
	l.skills, err = tx.Banks().MemorySkills(ctx, slices.Compact(ids))
	return l, err
}

// learn makes one policy update from decisions of this and earlier policies. Decisions without an
// outcome are omitted: their advantage is 0, and a later update may use them. Decisions with a
// masked outcome get no credit.
func (s *Adaptation) learn(ctx context.Context, l lesson) (out policyResult, current policy.Chooser,
	optimizer policy.Optimizer, err error) {
	current, optimizer = l.head.Policy, l.head.Optimizer
	out = policyResult{Policy: current.Hash(), Optimizer: optimizer.Hash(), Alike: 1}
	recipe, err := memoryskill.NewRecipe(l.spec.Recipe)
	if err != nil {
		return out, current, optimizer, err
	}
	steps, err := recipe.Credit.Steps([]policy.Episode{l.episode})
	if err != nil {
		return out, current, optimizer, err
	}
	steps = slices.DeleteFunc(steps, func(t policy.Step) bool { return !t.Credited })
	if out.Decisions = len(steps); len(steps) == 0 {
		return out, current, optimizer, nil
	}
	vectors, err := s.ports.Player.Encoder.Skills(ctx, l.skills, current)
	if err != nil {
		return out, current, optimizer, err
	}
	batch := policy.Batch{Steps: steps, Vectors: vectors, PPO: recipe.PPO, MaxWeight: policy.DefaultMaxWeight,
		MaxKL: policy.DefaultMaxKL,
		Key:   keyedrand.Key{Run: "adapt/" + l.spec.Bank, Iteration: l.head.Version.Number}}
	var report policy.Report
	if current, optimizer, report, err = s.ports.Controller.Update(current, optimizer, batch); err != nil {
		return out, current, optimizer, err
	}
	out.Policy, out.Optimizer, out.Report = current.Hash(), optimizer.Hash(), &report
	if out.Alike, err = agreement(l.head.Policy, current, steps, vectors); err != nil {
		return out, current, optimizer, err
	}
	out.OffPolicy, err = estimate(l.head.Policy, current, l.episode, vectors)
	return out, current, optimizer, err
}

// estimate estimates two policies on the decisions of an episode that have a score.
func estimate(before, after policy.Chooser, e policy.Episode, vectors map[string][]float64) (*learning.OffPolicy,
	error) {
	own := e.Own()
	var logged []policy.Logged
	for _, d := range e.Decisions {
		if score, scored := own[d.ID]; scored {
			logged = append(logged, policy.Logged{Decision: d, Score: score})
		}
	}
	theirs, err := policy.EstimateFrom(before, logged, vectors)
	if err != nil {
		return nil, err
	}
	ours, err := policy.EstimateFrom(after, logged, vectors)
	return &learning.OffPolicy{Candidate: ours.Mean, Incumbent: theirs.Mean, Effective: ours.Effective}, err
}

// agreement returns the share of decisions for which two policies choose the same skills greedily.
func agreement(a, b policy.Chooser, steps []policy.Step, vectors map[string][]float64) (float64, error) {
	same := 0.0
	for _, step := range steps {
		var candidates []policy.Candidate
		for _, id := range step.Candidates {
			candidates = append(candidates, policy.Candidate{ID: id, Vector: vectors[id]})
		}
		var choices [2][]string
		for i, p := range []policy.Chooser{a, b} {
			d, err := p.Choose(step.State, candidates, policy.Choice{K: len(step.Chosen), Greedy: true})
			if err != nil {
				return 0, err
			}
			choices[i] = slices.Sorted(slices.Values(d.Chosen))
		}
		if slices.Equal(choices[0], choices[1]) {
			same++
		}
	}
	return same / float64(len(steps)), nil
}
