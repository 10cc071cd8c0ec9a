package learning

import (
	"context"
	"encoding/json"
	"slices"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
)

// Adapted is what an update came to.
type Adapted struct {
	Outcome   string         `json:"outcome"`
	Bank      string         `json:"bank"`
	Base      int            `json:"base,omitempty"`   // version that it began on
	Update    int            `json:"update,omitempty"` // its number, from which its state can be told
	Decisions int            `json:"decisions"`        // that it has learnt from
	Policy    string         `json:"policy,omitempty"`
	Shadow    Shadow         `json:"shadow"`
	Report    *policy.Report `json:"report,omitempty"`
	Note      string         `json:"note,omitempty"`
}

// Steps of an update whose results are kept; the first result stays.
const (
	takenStep  = "taken"
	policyStep = "policy"
)

// taken is what an update learns from, as it was known when it took the bank: an
// outcome that comes later changes nothing, however often a step is done again.
type taken struct {
	Base      int            `json:"base"`
	Decisions []string       `json:"decisions"`
	Queries   []policy.Query `json:"queries"` // one for each thing that somebody said
	Held      []int64        `json:"held"`    // conversations that the policy is judged on
}

// learnt is the policy that came of it.
type learnt struct {
	Policy    string         `json:"policy"`
	Optimiser string         `json:"optimiser"`
	Decisions int            `json:"decisions"`
	Alike     float64        `json:"alike"` // share of these for which both policies choose the same skills
	Report    *policy.Report `json:"report,omitempty"`
}

// OpenAdapt takes the bank, and the decisions that an update learns from: they are
// its own from then on. Over is set when an earlier attempt has ended the run.
func (s *Service) OpenAdapt(ctx context.Context, ref run.Ref) (decisions int, over *Adapted, err error) {
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		decisions, over = 0, nil
		r, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if r.Status == run.Ended {
			over = new(Adapted)
			return json.Unmarshal(r.Result, over)
		}
		spec, err := specOf[AdaptSpec](r)
		if err != nil {
			return err
		}
		if _, err := s.take(ctx, tx, spec.Bank, holderOf(ref), bankLease); err != nil {
			return err
		}
		if _, err := tx.Runs().StartRun(ctx, ref.Run); err != nil {
			return err
		}
		var from taken
		found, err := tx.Training().Trained(ctx, ref.Run, takenStep, &from)
		if err != nil || found {
			decisions = len(from.Decisions)
			return err
		}
		if from, err = s.claim(ctx, tx, ref, spec); err != nil {
			return err
		}
		decisions = len(from.Decisions)
		return tx.Training().PutTrained(ctx, ref.Run, takenStep, 0, from)
	})
	return decisions, over, err
}

func (s *Service) claim(ctx context.Context, tx Tx, ref run.Ref, spec AdaptSpec) (out taken, err error) {
	head, err := tx.Banks().BankOf(ctx, spec.BankID)
	if err != nil {
		return out, err
	}
	out.Base = head.Head
	chosen, err := tx.Workspace().Settings(ctx)
	if err != nil || chosen.Memory.Learning.Frozen {
		return out, err
	}
	if _, open, err := tx.Updates().OpenUpdate(ctx, spec.BankID); err != nil || open { // one at a time
		return out, err
	}
	if out.Decisions, err = tx.Outcomes().Learnable(ctx, spec.BankID, head.Head-mostVersions, mostLearnt); err != nil || len(out.Decisions) == 0 {
		return out, err
	}
	if err := tx.Outcomes().Claim(ctx, ref.Run, out.Decisions); err != nil {
		return out, err
	}
	outcomes, err := tx.Outcomes().Outcomes(ctx, out.Decisions)
	if err != nil {
		return out, err
	}
	for i, o := range outcomes { // those of one operation stand together
		if i == 0 || outcomes[i-1].Op != o.Op {
			out.Queries = append(out.Queries, policy.Query{Score: o.Score, Scored: true})
		}
		q := &out.Queries[len(out.Queries)-1]
		q.Cited = append(q.Cited, o.Decision)
	}
	all, _, err := s.traces(ctx, tx, spec.BankID)
	_, out.Held = split(all)
	return out, err
}

// AdaptPolicy learns from the decisions of an update, and counts the conversations
// to try the policy on. The first result stays.
func (s *Service) AdaptPolicy(ctx context.Context, ref run.Ref) (trials int, err error) {
	var (
		spec   AdaptSpec
		from   taken
		head   Head
		done   bool
		made   []policy.Decision
		lost   []string
		skills []memoryskill.Version
	)
	err = s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		made, lost = nil, nil
		if spec, from, head, err = s.adapting(ctx, tx, ref); err != nil {
			return err
		}
		if done, err = tx.Training().Trained(ctx, ref.Run, policyStep, new(learnt)); err != nil || done {
			return err
		}
		var ids []string
		for _, id := range from.Decisions {
			d, found, err := tx.Decisions().DecisionAt(ctx, id)
			if err != nil {
				return err
			}
			if !found || len(d.Choice.State) != 2*head.Policy.Shape().Dim { // erased, or made by a policy of another shape
				continue
			}
			if d.Outcome == nil || d.Outcome.Outcome == executor.LLMError {
				lost = append(lost, d.ID)
			}
			made, ids = append(made, d.Choice.Decision), append(ids, d.Choice.Candidates...)
		}
		slices.Sort(ids)
		skills, err = tx.BankContents().MemorySkills(ctx, slices.Compact(ids))
		return err
	})
	if err != nil || done {
		return len(from.Held), err
	}
	out, current, optimiser, err := s.adapt(ctx, spec, head, policy.Episode{Decisions: made, Queries: from.Queries, Lost: lost}, skills)
	if err != nil {
		return 0, err
	}
	return len(from.Held), s.Store.WithEvolve(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		if _, err := s.take(ctx, tx, spec.Bank, holderOf(ref), bankLease); err != nil { // keeps it
			return err
		}
		if done, err := tx.Training().Trained(ctx, ref.Run, policyStep, new(learnt)); err != nil || done {
			return err
		}
		if err := keepWeights(ctx, tx, current, optimiser); err != nil {
			return err
		}
		if out.Decisions > 0 {
			u := PolicyUpdate{Run: ref.Run, Base: from.Base, Policy: out.Policy, Optimiser: out.Optimiser, Decisions: out.Decisions, Shadow: Shadow{Alike: out.Alike}}
			if _, err := tx.Updates().PutUpdate(ctx, spec.BankID, u); err != nil {
				return err
			}
		}
		return tx.Training().PutTrained(ctx, ref.Run, policyStep, 0, out)
	})
}

// adapting reads an update with the version that it began on.
func (s *Service) adapting(ctx context.Context, tx Tx, ref run.Ref) (spec AdaptSpec, from taken, head Head, err error) {
	r, err := tx.Runs().Run(ctx, ref.Run)
	if err != nil {
		return spec, from, head, err
	}
	if spec, err = specOf[AdaptSpec](r); err != nil {
		return spec, from, head, err
	}
	if found, err := tx.Training().Trained(ctx, ref.Run, takenStep, &from); err != nil || !found {
		return spec, from, head, missing(err, takenStep)
	}
	head, err = s.at(ctx, tx, BankRow{ID: spec.BankID, Name: spec.Bank, Head: from.Base}, from.Base)
	return spec, from, head, err
}

// adapt is one update from decisions that this and earlier policies made. One
// without an outcome is not among them: that is advantage 0, and it may have an
// outcome for a later update. One that was lost to an endpoint has no credit.
func (s *Service) adapt(ctx context.Context, spec AdaptSpec, head Head, e policy.Episode, skills []memoryskill.Version) (out learnt, current policy.Policy, optimiser policy.Adam, err error) {
	current, optimiser = head.Policy, head.Optimiser
	out = learnt{Policy: current.Hash(), Optimiser: optimiser.Hash(), Alike: 1}
	recipe, err := memoryskill.NewRecipe(spec.Recipe)
	if err != nil {
		return out, current, optimiser, err
	}
	steps, err := recipe.Credit.Steps([]policy.Episode{e})
	if err != nil {
		return out, current, optimiser, err
	}
	steps = slices.DeleteFunc(steps, func(t policy.Step) bool { return !t.Credited })
	if out.Decisions = len(steps); len(steps) == 0 {
		return out, current, optimiser, nil
	}
	vectors, err := s.vectorsOf(ctx, skills, current.Shape().Dim)
	if err != nil {
		return out, current, optimiser, err
	}
	if steps, err = policy.Reweigh(current, steps, vectors, policy.DefaultMaxWeight); err != nil {
		return out, current, optimiser, err
	}
	var report policy.Report
	if current, optimiser, report, err = policy.Update(current, optimiser, steps, vectors, recipe.PPO, keyedrand.Key{Run: "adapt/" + spec.Bank, Iteration: head.Version.Number}); err != nil {
		return out, current, optimiser, err
	}
	out.Policy, out.Optimiser, out.Report = current.Hash(), optimiser.Hash(), &report
	out.Alike, err = alike(head.Policy, current, steps, vectors)
	return out, current, optimiser, err
}

// vectorsOf are those of what skills say of themselves, by id.
func (s *Service) vectorsOf(ctx context.Context, skills []memoryskill.Version, dims int) (map[string][]float64, error) {
	var texts []string
	for _, v := range skills {
		texts = append(texts, v.Skill.Description)
	}
	vectors, err := s.embed(ctx, texts)
	out := map[string][]float64{}
	for i, v := range vectors {
		out[skills[i].ID] = policy.Fold(v, dims)
	}
	return out, err
}

// alike is the share of decisions for which two policies choose the same skills
// when they choose greedily.
func alike(a, b policy.Policy, steps []policy.Step, vectors map[string][]float64) (float64, error) {
	same := 0.0
	for _, step := range steps {
		var candidates []policy.Candidate
		for _, id := range step.Candidates {
			candidates = append(candidates, policy.Candidate{ID: id, Vector: vectors[id]})
		}
		var chosen [2][]string
		for i, p := range []policy.Policy{a, b} {
			scorer, err := p.Scorer(candidates)
			if err != nil {
				return 0, err
			}
			d, err := scorer.Decide(step.State, policy.Choice{K: len(step.Chosen), Greedy: true})
			if err != nil {
				return 0, err
			}
			chosen[i] = slices.Sorted(slices.Values(d.Chosen))
		}
		if slices.Equal(chosen[0], chosen[1]) {
			same++
		}
	}
	return same / float64(len(steps)), nil
}
