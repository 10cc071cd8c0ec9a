package train

import (
	"context"
	"crypto/sha256"
	"fmt"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Accept stores a round and starts its workflow. A frozen bank has no rounds.
func (s *Evolution) Accept(ctx context.Context, r EvolutionRequest) (out run.Run, err error) {
	spec := r.EvolutionSpec
	spec.Bank = bank.OrDefault(spec.Bank)
	if spec.Recipe == "" {
		spec.Recipe = memoryskill.TargetRecipe
	}
	if spec.Score == "" {
		spec.Score = bank.ByRecall
	}
	spec.Keeping = spec.Keeping.WithDefaults()
	if err := spec.Keeping.Check(); err != nil {
		return out, err
	}
	err = s.ports.Store.InWorkspace(ctx, r.Workspace, func(ctx context.Context, tx store.Tx) error {
		head, err := s.ports.Banks.ReadHead(ctx, tx, spec.Bank)
		if err != nil {
			return err
		}
		if err := head.CheckChangeable(); err != nil {
			return err
		}
		spec.BankID, spec.Base = head.ID, head.Head
		if spec.Model, err = spec.Model.WithInstructions(head.Version.Prompts); err != nil {
			return err
		}
		if err := bank.Complete(ctx, tx, &spec.Keeping, r.Keeping.Mode != ""); err != nil {
			return err
		}
		all, _, err := bank.ByConversation(ctx, tx, head.ID)
		if err != nil {
			return err
		}
		_, spec.Held = Split(all)
		key, err := roundKey(ctx, tx, r.ID, head)
		if err != nil {
			return err
		}
		out, err = bank.AcceptRun(ctx, tx, run.NewAgentRun{Kind: run.Evolve, Key: key, Generation: 1,
			ArgsSHA:    sha256.Sum256([]byte(key)),
			WorkflowID: contract.EvolveID(r.WorkspaceKey, spec.Bank, contract.VisibleKey(key))}, spec)
		return err
	})
	if err == nil {
		bank.StartRun(ctx, s.ports.Starter, r.WorkspaceKey, out)
	}
	return out, err
}

// roundKey returns the key of a round: the ID of the caller, or the next number for the version of
// the bank.
func roundKey(ctx context.Context, tx store.Tx, id string, head bank.Head) (string, error) {
	if id != "" {
		return head.Name + "/" + id, nil
	}
	rounds, err := tx.Rounds().Rounds(ctx, head.ID, 1)
	next := 1
	if len(rounds) > 0 {
		next = rounds[0].Number + 1
	}
	return fmt.Sprintf("%s/v%d-%d", head.Name, head.Head, next), err
}

// Open takes the lease of the bank and opens the round of a run. If an earlier attempt has ended
// the round, over is set.
func (s *Evolution) Open(ctx context.Context, ref run.Ref) (over *learning.Round, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx store.Tx) error {
		_, spec, ended, err := bank.ReadSpec[EvolutionSpec, learning.Round](ctx, tx, ref)
		if over = ended; err != nil || over != nil {
			return err
		}
		if err := s.ports.Banks.HoldLease(ctx, tx, ref, spec.Bank); err != nil {
			return err
		}
		if _, err := tx.Rounds().PutRound(ctx, spec.BankID, ref.Run, spec.Base); err != nil {
			return err
		}
		_, err = tx.Runs().StartRun(ctx, ref.Run)
		return err
	})
	return over, err
}
