package train

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Accept stores a training and starts its workflow. The same request for the same version of the
// bank returns the same run.
func (s *Training) Accept(ctx context.Context, r Request) (out run.Run, err error) {
	return s.accept(ctx, r, Split)
}

// AcceptSplit is Accept for an evaluation, which has its own conversations to test on: the training uses
// all conversations of the bank, and its version is not promoted.
func (s *Training) AcceptSplit(ctx context.Context, r Request) (out run.Run, err error) {
	return s.accept(ctx, r, nil)
}

// accept stores a training. Split divides the conversations; nil holds none out.
func (s *Training) accept(ctx context.Context, r Request, split func([]int64) (train, held []int64)) (out run.Run,
	err error) {
	spec, err := r.Spec.withDefaults()
	if err != nil {
		return out, err
	}
	ownMode := r.Keeping.Mode != "" || spec.Recipe != memoryskill.TargetRecipe
	err = s.ports.Store.InWorkspace(ctx, r.Workspace, func(ctx context.Context, tx store.Tx) error {
		if err := s.pin(ctx, tx, &spec, ownMode, split); err != nil {
			return err
		}
		key := spec.Bank + "/" + cmp.Or(r.ID, spec.key())
		out, err = bank.AcceptRun(ctx, tx, run.NewAgentRun{Kind: run.Train, Key: key, Generation: 1,
			ArgsSHA:    sha256.Sum256([]byte(key)),
			WorkflowID: contract.TrainID(r.WorkspaceKey, spec.Bank, contract.VisibleKey(key))}, spec)
		return err
	})
	if err == nil {
		bank.StartRun(ctx, s.ports.Starter, r.WorkspaceKey, out)
	}
	return out, err
}

// pin pins a training to the version of its bank and to the available conversations.
func (s *Training) pin(ctx context.Context, tx store.Tx, spec *Spec, ownMode bool,
	split func([]int64) (train, held []int64)) error {
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
	if err := bank.Complete(ctx, tx, &spec.Keeping, ownMode); err != nil {
		return err
	}
	if _, _, err := s.ports.Banks.Reform(head, spec.Recipe, spec.Fuse, spec.Temperature); err != nil {
		return err
	}
	all, _, err := bank.ByConversation(ctx, tx, head.ID)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fault.New(fault.NotFound, fmt.Sprintf("bank %q has no questions with known answers", spec.Bank),
			"import traces: cairn train --traces FILE")
	}
	if split == nil {
		spec.Traces, spec.Held = all, []int64{}
		return nil
	}
	if spec.Traces, spec.Held = split(all); len(spec.Held) == 0 {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("bank %q has questions about one conversation only, "+
			"and needs another one as the held-out set", spec.Bank),
			"import two conversations or more: cairn train --traces FILE")
	}
	return nil
}
