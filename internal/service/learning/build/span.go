package build

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
)

// BuildSpan builds the memories of one span: it chooses skills, calls the model once, and applies
// the permitted actions in one transaction.
func (s *Service) BuildSpan(ctx context.Context, ref run.Ref, number int) (out learning.SpanOutcome, err error) {
	session, err := s.readSession(ctx, ref)
	if err != nil {
		return out, err
	}
	if number < 0 || number >= len(session.Spans) {
		return out, fault.Newf(fault.InvalidArgument, "run %s has no span %d", ref.Run, number)
	}
	span := session.Spans[number]
	var head bank.Head
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		row := learning.BankRow{ID: session.Spec.BankID, Name: session.Spec.Bank}
		head, err = s.ports.Banks.ReadVersion(ctx, tx, row, session.Spec.Version)
		return err
	})
	if err != nil {
		return out, err
	}
	d, err := s.decide(ctx, session, span, head)
	if err != nil {
		return out, err
	}
	if d.Outcome != nil {
		return *d.Outcome, nil
	}
	if out, err = s.carryOut(ctx, session, span, head, d); err != nil {
		return out, err
	}
	return out, s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		return tx.Decisions().EndDecision(ctx, d.ID, out)
	})
}

func (s *Service) readSession(ctx context.Context, ref run.Ref) (out bank.Session, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		out, err = bank.ReadSession(ctx, tx, ref.Run)
		return err
	})
	return out, err
}

// carryOut calls the model for a span and applies its actions.
func (s *Service) carryOut(ctx context.Context, session bank.Session, span executor.Span, head bank.Head,
	d learning.Decision) (out learning.SpanOutcome, err error) {
	contents, err := s.readContents(ctx, session.Run.Workspace, d.Choice.Shown)
	if err != nil {
		return out, err
	}
	skills := bank.SkillsOf(head.Bank, d.Choice.Chosen)
	actions, outcome, err := s.ports.Executor.Execute(ctx, executor.Input{Ref: session.Run.Ref,
		Model: session.Spec.Model, Step: fmt.Sprintf("span/%d", span.Number), Lang: session.Spec.Lang, Span: span,
		Skills: skills, Shown: d.Choice.Shown, Contents: contents})
	if f, over := ledger.IsPermanent(err); over {
		return learning.SpanOutcome{Outcome: executor.LLMError, Note: f.Error()}, nil
	} else if err != nil {
		return out, err
	}
	out = learning.SpanOutcome{Outcome: outcome,
		Actions: executor.Resolve(actions, bank.Roles(skills), bank.Handles(d.Choice.Shown))}
	return out, s.apply(ctx, session, span, d.ID, out.Actions)
}

// readContents returns the contents of memories by ID.
func (s *Service) readContents(ctx context.Context, ws int64, ids []string) (map[string]string, error) {
	out := map[string]string{}
	return out, s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		entries, err := tx.LongTerm().LongTerm(ctx, ids)
		for _, e := range entries {
			out[e.ID] = e.Content
		}
		return err
	})
}
