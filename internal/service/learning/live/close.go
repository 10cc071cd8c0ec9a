package live

import (
	"context"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Close ends a probing run with the totals of its probes. Probes without an answer become errors
// and are not used for learning. Code is set if the workflow failed.
func (s *Probes) Close(ctx context.Context, ref run.Ref, code, reason string) (out ProbeResult, err error) {
	first := false
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		out, first = ProbeResult{}, false
		_, spec, over, err := bank.ReadSpec[ProbeSpec, ProbeResult](ctx, tx, ref)
		if err != nil || over != nil {
			if over != nil {
				out = *over
			}
			return err
		}
		if out, err = endAll(ctx, tx, ref, reason); err != nil {
			return err
		}
		out.Bank = spec.Bank
		switch {
		case code == string(fault.Cancelled):
			out.Outcome = run.CancelledOutcome
		case code != "" && out.Scored == 0:
			out.Outcome = run.Failed
		case out.Errors > 0:
			out.Outcome = run.CompletedPartial
		case out.Probes == 0:
			out.Outcome = run.NothingToExtract
		default:
			out.Outcome = run.Completed
		}
		first = true
		return tx.Runs().EndRun(ctx, ref.Run, out.Outcome, reason, out)
	})
	if err == nil && first && out.Probes > 0 {
		bank.Report(s.ports.Log, bank.Probes, learning.EpisodeOutcomes{Of: out.Scored + out.Errors,
			Masked: out.Errors},
			"run", ref.Run)
	}
	return out, err
}

// endAll ends the open probes of a run and returns the totals.
func endAll(ctx context.Context, tx store.Tx, ref run.Ref, reason string) (out ProbeResult, err error) {
	probes, err := tx.Probes().ProbesOf(ctx, ref.Run)
	if err != nil {
		return out, err
	}
	for _, p := range probes {
		p.State, p.Note = StateError, reason
		if _, err := tx.Probes().EndProbe(ctx, p); err != nil { // probes that have ended do not change
			return out, err
		}
	}
	if probes, err = tx.Probes().ProbesOf(ctx, ref.Run); err != nil {
		return out, err
	}
	out.Probes = len(probes)
	for _, p := range probes {
		switch p.State {
		case StateError:
			out.Errors++
		case StateUnscored:
			out.Unscored++
		case StateScored:
			out.Scored++
			out.Mean += (*p.Score - out.Mean) / float64(out.Scored)
		}
	}
	return out, nil
}
