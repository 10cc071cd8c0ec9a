package bank

import (
	"context"
	"fmt"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/store"
)

// ReadHead reads the head of a bank. If the default bank does not exist, ReadHead creates it.
func (s *Service) ReadHead(ctx context.Context, tx store.Tx, name string) (Head, error) {
	row, found, err := tx.Banks().BankNamed(ctx, name)
	if err != nil {
		return Head{}, err
	}
	if found && row.Head > 0 {
		return s.ReadVersion(ctx, tx, row, row.Head)
	}
	if name != Default {
		return Head{}, fault.New(fault.NotFound, fmt.Sprintf("bank %q not found", name),
			"run `cairn bank list`, or import a bank with this name")
	}
	return s.seed(ctx, tx, name)
}

// seed creates a bank with the shipped skills and an untrained policy. Its weights are derived from
// the name of the bank, so that equal banks start equal.
func (s *Service) seed(ctx context.Context, tx store.Tx, name string) (Head, error) {
	row, err := tx.Banks().PutBank(ctx, name) // locks the row: concurrent calls find the version
	if err != nil || row.Head > 0 {
		if err != nil {
			return Head{}, err
		}
		return s.ReadVersion(ctx, tx, row, row.Head)
	}
	b, err := memoryskill.ShippedBank(memoryskill.DefaultCapacity)
	if err != nil {
		return Head{}, err
	}
	p, o, err := s.untrained(name)
	if err != nil {
		return Head{}, err
	}
	return s.Advance(ctx, tx, row, Draft{Action: ActionSeed, Bank: b, Policy: p, Optimizer: o,
		Reason: fmt.Sprintf("%d shipped skills", b.Len())})
}

// untrained returns the initial policy of a bank.
func (s *Service) untrained(bank string) (policy.Chooser, policy.Optimizer, error) {
	f, err := s.form(memoryskill.TargetRecipe)
	if err != nil {
		return nil, nil, err
	}
	return s.ports.Controller.Start(nil, nil, f, keyedrand.Key{Run: bank})
}

// form returns the chooser of a recipe.
func (s *Service) form(recipe string) (policy.Form, error) {
	r, err := memoryskill.NewRecipe(recipe)
	return policy.Form{Shape: r.Shape, Dim: min(memoryskill.PolicyDims, s.ports.Encoder.Embedder.Dims()),
		Hidden: memoryskill.PolicyHidden}, err
}

// Reform returns the policy and optimizer of a head if they match the recipe, fuse and temperature.
// Otherwise it returns an untrained policy that matches. Its weights are derived from the name of
// the bank.
func (s *Service) Reform(h Head, recipe, fuse string, temperature float64) (policy.Chooser, policy.Optimizer, error) {
	f, err := s.form(recipe)
	if err != nil {
		return nil, nil, err
	}
	f.Fuse, f.Temperature = fuse, temperature
	return s.ports.Controller.Start(h.Policy, h.Optimizer, f, keyedrand.Key{Run: h.Name})
}

// ensure creates a bank if it does not exist.
func (s *Service) ensure(ctx context.Context, ws int64, name string) error {
	return s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if _, found, err := tx.Banks().BankNamed(ctx, name); err != nil || found {
			return err
		}
		_, err := s.seed(ctx, tx, name)
		return err
	})
}

// ReadVersion reads a version and verifies the hashes of its parts.
func (s *Service) ReadVersion(ctx context.Context, tx store.Tx, row learning.BankRow, number int) (out Head,
	err error) {
	v, err := tx.Banks().BankVersion(ctx, row.ID, number)
	if err != nil {
		return out, err
	}
	return s.load(ctx, tx, row, v)
}

func (s *Service) load(ctx context.Context, tx store.Tx, row learning.BankRow, v learning.BankVersion) (out Head,
	err error) {
	out = Head{BankRow: row, Version: v}
	members, err := tx.Banks().MemorySkills(ctx, v.Members)
	if err != nil {
		return out, err
	}
	if out.Bank, err = memoryskill.NewBank(v.Capacity, members...); err != nil {
		return out, fmt.Errorf("bank %s version %d: %w", row.Name, v.Number, err)
	}
	if out.Policy, out.Optimizer, err = s.ReadWeights(ctx, tx, v.Policy, v.Optimizer); err != nil {
		return out, fmt.Errorf("bank %s version %d: %w", row.Name, v.Number, err)
	}
	bound := memoryskill.Snapshot{Hash: v.Snapshot, Bank: v.BankSHA, Policy: v.Policy, Optimizer: v.Optimizer}
	return out, bound.Verify(out.Bank, out.Policy, out.Optimizer)
}

// Advance writes a version and moves the head to it. If the head is no longer at the base of the
// draft, it returns VersionConflict and writes nothing. For a frozen bank it returns Protected.
func (s *Service) Advance(ctx context.Context, tx store.Tx, row learning.BankRow, d Draft) (Head, error) {
	newest, err := tx.Banks().BankVersions(ctx, row.ID, 0, 1)
	if err != nil {
		return Head{}, err
	}
	number := 1
	if len(newest) > 0 {
		number += newest[0].Number
	}
	snapshot := memoryskill.Bind(d.Bank, d.Policy, d.Optimizer)
	v := learning.BankVersion{Number: number, Parent: d.Base, Action: d.Action, BankSHA: snapshot.Bank,
		Capacity: d.Bank.Capacity(), Fresh: d.Fresh, Policy: snapshot.Policy, Optimizer: snapshot.Optimizer,
		Snapshot: snapshot.Hash, Reason: d.Reason, Run: d.Run}
	for _, one := range d.Bank.Versions() {
		v.Members = append(v.Members, one.ID)
	}
	if err := tx.Banks().PutMemorySkills(ctx, d.Bank.Versions()); err != nil {
		return Head{}, err
	}
	if err := s.StoreWeights(ctx, tx, d.Policy, d.Optimizer); err != nil {
		return Head{}, err
	}
	moved, err := tx.Banks().AdvanceBank(ctx, row.ID, d.Base, v.Number)
	if err != nil {
		return Head{}, err
	}
	if !moved {
		now, err := tx.Banks().BankOf(ctx, row.ID)
		if err == nil {
			err = now.CheckChangeable()
		}
		if err != nil {
			return Head{}, err
		}
		return Head{}, fault.New(fault.VersionConflict, fmt.Sprintf("bank %q is no longer at version %d", row.Name,
			d.Base), "read the active version, then try again")
	}
	if v.Prompts, err = promptsOf(ctx, tx, row.ID, d); err != nil {
		return Head{}, err
	}
	if err := tx.Banks().PutBankVersion(ctx, row.ID, v); err != nil {
		return Head{}, err
	}
	row.Head = v.Number
	return s.ReadVersion(ctx, tx, row, v.Number)
}
