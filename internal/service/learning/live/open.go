package live

import (
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/train"
	"cairn/internal/store"
)

// Steps of an update whose results are stored; the first stored result is kept.
const (
	basisStep  = "taken"
	policyStep = "policy"
)

// basis is the input of an update at the time it was opened. Later outcomes do not change it, so
// repeated steps have the same result.
type basis struct {
	Base      int            `json:"base"`
	Decisions []string       `json:"decisions"`
	Queries   []policy.Query `json:"queries"` // one for each judgement
	Held      []int64        `json:"held"`    // held-out conversations
	// Start are the weights of the shadow from which the update continues; nil means those of the
	// base version.
	Start *weights `json:"start,omitempty"`
}

// weights names a policy and its optimizer by their hashes.
type weights struct {
	Policy    string `json:"policy"`
	Optimizer string `json:"optimizer"`
}

// Open takes the lease of the bank and claims the decisions of an update. If an earlier attempt has
// ended the run, over is set.
func (s *Adaptation) Open(ctx context.Context, ref run.Ref) (decisions int, over *AdaptationResult, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		decisions = 0
		var spec AdaptationSpec
		if _, spec, over, err = bank.ReadSpec[AdaptationSpec, AdaptationResult](ctx, tx, ref); err != nil ||
			over != nil {
			return err
		}
		if err := s.ports.Banks.HoldLease(ctx, tx, ref, spec.Bank); err != nil {
			return err
		}
		if _, err := tx.Runs().StartRun(ctx, ref.Run); err != nil {
			return err
		}
		from, found, err := bank.ReadStep[basis](ctx, tx, ref.Run, basisStep)
		if err != nil || found {
			decisions = len(from.Decisions)
			return err
		}
		if from, err = s.claim(ctx, tx, ref, spec); err != nil {
			return err
		}
		decisions = len(from.Decisions)
		return bank.SaveStep(ctx, tx, ref.Run, basisStep, 0, from)
	})
	return decisions, over, err
}

// claim assigns decisions with known outcomes to the update.
func (s *Adaptation) claim(ctx context.Context, tx store.Tx, ref run.Ref, spec AdaptationSpec) (out basis, err error) {
	head, err := tx.Banks().BankOf(ctx, spec.BankID)
	if err != nil {
		return out, err
	}
	out.Base = head.Head
	chosen, err := tx.Workspaces().Settings(ctx)
	if err != nil || chosen.Memory.Learning.Frozen || head.Frozen() {
		return out, err
	}
	if _, open, err := tx.Updates().OpenUpdate(ctx, spec.BankID); err != nil || open { // one at a time
		return out, err
	}
	if out.Decisions, err = tx.Outcomes().Learnable(ctx, spec.BankID, head.Head-maxVersions,
		maxDecisions); err != nil || len(out.Decisions) == 0 {
		return out, err
	}
	if err := tx.Outcomes().Claim(ctx, ref.Run, out.Decisions); err != nil {
		return out, err
	}
	if out.Start, err = shadowOf(ctx, tx, head); err != nil {
		return out, err
	}
	outcomes, err := tx.Outcomes().Outcomes(ctx, out.Decisions)
	if err != nil {
		return out, err
	}
	out.Queries = judgements(outcomes)
	all, _, err := bank.ByConversation(ctx, tx, spec.BankID)
	_, out.Held = train.Split(all)
	return out, err
}

// shadowOf returns the weights of the bank's latest update if it ended as a shadow. Those that are
// based on an earlier version are dropped.
func shadowOf(ctx context.Context, tx store.Tx, head learning.BankRow) (*weights, error) {
	last, err := tx.Updates().Updates(ctx, head.ID, 0, 1)
	if err != nil || len(last) == 0 || last[0].State != InShadow || last[0].EndedAt == nil {
		return nil, err
	}
	w := &weights{last[0].Policy, last[0].Optimizer}
	if last[0].Base != head.Head {
		return nil, w.drop(ctx, tx)
	}
	return w, nil
}

// drop drops weights that no version uses.
func (w *weights) drop(ctx context.Context, tx store.Tx) error {
	return tx.Banks().DropBlobs(ctx, []string{w.Policy, w.Optimizer})
}

// judgements returns one query for each score, without those that would give a voter too much weight.
func judgements(outcomes []learning.Outcome) (out []policy.Query) {
	var scores []learning.Outcome
	cited := map[string][]string{} // by operation
	for i, o := range outcomes {   // outcomes of one operation are adjacent
		if i == 0 || outcomes[i-1].Op != o.Op {
			scores = append(scores, o)
		}
		cited[o.Op] = append(cited[o.Op], o.Decision)
	}
	for _, s := range bank.Capped(scores) {
		out = append(out, policy.Query{Score: s.Score, Scored: true, Cited: cited[s.Op]})
	}
	return out
}

// read reads an update and the version on which it is based.
func (s *Adaptation) read(ctx context.Context, tx store.Tx, ref run.Ref) (spec AdaptationSpec, from basis,
	head bank.Head,
	err error) {
	r, err := tx.Runs().Run(ctx, ref.Run)
	if err != nil {
		return spec, from, head, err
	}
	if spec, err = bank.DecodeReply[AdaptationSpec](r); err != nil {
		return spec, from, head, err
	}
	if from, err = bank.NeedStep[basis](ctx, tx, ref.Run, basisStep); err != nil {
		return spec, from, head, err
	}
	head, err = s.ports.Banks.ReadVersion(ctx, tx, learning.BankRow{ID: spec.BankID, Name: spec.Bank, Head: from.Base},
		from.Base)
	return spec, from, head, err
}
