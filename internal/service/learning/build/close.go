package build

import (
	"context"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Close ends a run with the totals of its decisions. Code and reason are set if the workflow
// failed.
func (s *Service) Close(ctx context.Context, ref run.Ref, code, reason string) (out Result, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		r, spec, over, err := bank.ReadSpec[bank.ExtractionSpec, Result](ctx, tx, ref)
		if err != nil || over != nil {
			if over != nil {
				out = *over
			}
			return err
		}
		decisions, err := tx.Decisions().Decisions(ctx, ref.Run)
		if err != nil {
			return err
		}
		if err := bank.CountUse(ctx, tx, spec.BankID, decisions); err != nil {
			return err
		}
		out = sum(decisions)
		out.Trace, out.Bank, out.Version = r.Key, spec.Bank, spec.Version
		switch {
		case code == string(fault.Cancelled):
			out.Outcome = run.CancelledOutcome
		case code != "" || out.Failed > 0 && out.Failed == out.Spans:
			out.Outcome = run.Failed
		case out.Failed > 0:
			out.Outcome = run.CompletedPartial
		case out.Spans == 0:
			out.Outcome = run.NothingToExtract
		default:
			out.Outcome = run.Completed
		}
		if out.Outcome != run.Failed && out.Outcome != run.CancelledOutcome {
			if err := tx.AgentRuns().SetMark(ctx, r.Conversation, run.Summarize, spec.ToSeq, ref.Run); err != nil {
				return err
			}
			if err := s.ports.Probes.Accept(ctx, tx, r, spec, decisions); err != nil {
				return err
			}
		}
		return tx.Runs().EndRun(ctx, ref.Run, out.Outcome, reason, out)
	})
	return out, err
}

// sum adds up decisions.
func sum(decisions []learning.Decision) Result {
	out := Result{Actions: map[executor.Outcome]int{}, Added: []string{}, Updated: []string{}, Deleted: []string{}}
	for _, d := range decisions {
		out.Spans++
		if d.Outcome == nil || d.Outcome.Outcome == executor.LLMError || d.Outcome.Outcome == executor.ParseError {
			out.Failed++
			continue
		}
		for _, a := range d.Outcome.Actions {
			out.Actions[a.Outcome]++
			if a.Outcome != executor.OK {
				continue
			}
			switch a.Type {
			case memoryskill.Insert:
				out.Added = append(out.Added, a.Memory)
			case memoryskill.Update:
				out.Updated = append(out.Updated, a.Memory)
			case memoryskill.Delete:
				out.Deleted = append(out.Deleted, a.Memory)
			}
		}
	}
	return out
}
