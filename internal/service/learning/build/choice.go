package build

import (
	"context"
	"slices"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// decide chooses the skills of a span. If an earlier attempt has chosen, decide returns that
// choice.
func (s *Service) decide(ctx context.Context, session bank.Session, span executor.Span,
	head bank.Head) (d learning.Decision, err error) {
	id := bank.DecisionID(session.Run.Ref, span.Number)
	found, canary := false, 0
	err = s.ports.Store.InWorkspace(ctx, session.Run.Workspace, func(ctx context.Context, tx store.Tx) error {
		if d, found, err = tx.Decisions().DecisionAt(ctx, id); err != nil || found {
			return err
		}
		head, canary, err = s.ports.Updates.ChooseCanary(ctx, tx, session.Run.Key, head)
		return err
	})
	if err != nil || found {
		return d, err
	}
	vectors, err := s.ports.Encoder.Embed(ctx, []string{span.Text()})
	if err != nil {
		return d, err
	}
	candidates, err := s.ports.Encoder.Candidates(ctx, head.Bank, nil, head.Policy)
	if err != nil {
		return d, err
	}
	d = learning.Decision{ID: id, Run: session.Run.Ref.Run, Conversation: session.Run.Conversation,
		Span: span.Number, FromSeq: span.FromSeq(), ToSeq: span.ToSeq(), Bank: head.ID,
		Version: head.Version.Number, Canary: canary}
	err = s.ports.Store.InWorkspace(ctx, session.Run.Workspace, func(ctx context.Context, tx store.Tx) error {
		d, err = s.choose(ctx, tx, d, session.Spec.Keeping, head, vectors[0], candidates)
		return err
	})
	return d, err
}

// choose makes and stores the choice of a decision, unless another attempt has stored one.
func (s *Service) choose(ctx context.Context, tx store.Tx, d learning.Decision, o bank.SpanOptions, head bank.Head,
	vector []float32, candidates []policy.Candidate) (learning.Decision, error) {
	how, fresh, err := s.explore(ctx, tx, d.ID, o.K, head)
	if err != nil {
		return d, err
	}
	if made, found, err := tx.Decisions().
		DecisionAt(ctx, d.ID); err != nil ||
		found { // stored while this attempt waited
		return made, err
	}
	near, err := tx.Documents().Neighbors(ctx, vector, s.ports.Space, o.TopN)
	if err != nil {
		return d, err
	}
	var vectors [][]float32
	for _, n := range near {
		vectors, d.Choice.Shown = append(vectors, n.Vector), append(d.Choice.Shown, n.ID)
	}
	for i, c := range candidates {
		candidates[i].Fresh = slices.Contains(fresh, c.ID)
	}
	chooser := head.Policy
	if how.Greedy {
		chooser = head.Production()
	}
	choice, err := chooser.Choose(bank.State(chooser, vector, vectors), candidates, how)
	if err != nil {
		return d, err
	}
	if o.Draw != "" {
		choice = drawn(choice, o, d.Span)
	}
	choice.ID, choice.Policy, choice.Bank = d.ID, head.Version.Policy, head.Version.BankSHA
	choice.Tokens = bank.Tokens(bank.SkillsOf(head.Bank, choice.Chosen))
	d.Choice.Decision = choice
	if err := tx.Decisions().PutDecision(ctx, d); err != nil {
		return d, err
	}
	d, _, err = tx.Decisions().DecisionAt(ctx, d.ID) // another attempt may have been first
	return d, err
}

// drawn replaces the choice of a policy by a uniform draw.
func drawn(d policy.Decision, o bank.SpanOptions, span int) policy.Decision {
	d.Logits, d.Bias, d.Fresh, d.Chosen, d.Greedy = make([]float64, len(d.Candidates)), 0, nil, nil, false
	chosen := policy.SampleTopK(d.Logits, d.Candidates, o.K, keyedrand.Key{Run: o.Draw, Span: span})
	for _, i := range chosen {
		d.Chosen = append(d.Chosen, d.Candidates[i])
	}
	d.LogProb = policy.LogProb(d.Logits, chosen)
	return d
}
