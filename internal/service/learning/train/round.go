package train

import (
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Outcomes of a round, in addition to those of package trial.
const (
	NoChange = "no_change" // the designer proposed no edits
	NoCases  = "no_cases"  // there were no hard cases
	Waiting  = "waiting"   // the candidate passes the gate, and the owner has to accept it
)

// read reads a round with its pinned configuration.
func (s *Evolution) read(ctx context.Context, ref run.Ref, also func(store.Tx, EvolutionSpec,
	bank.Head) error) (r learning.Round,
	spec EvolutionSpec,
	head bank.Head, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		of, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if spec, err = bank.DecodeReply[EvolutionSpec](of); err != nil {
			return err
		}
		if r, err = tx.Rounds().RoundOf(ctx, ref.Run); err != nil {
			return err
		}
		if head, err = s.ports.Banks.ReadVersion(ctx, tx, learning.BankRow{ID: spec.BankID, Name: spec.Bank,
			Head: spec.Base},
			spec.Base); err != nil || also == nil {
			return err
		}
		return also(tx, spec, head)
	})
	return r, spec, head, err
}
