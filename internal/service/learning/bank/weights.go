package bank

import (
	"context"

	"cairn/internal/domain/memoryskill/policy"
)

// Kinds of blobs.
const (
	policyBlob    = "policy"
	optimizerBlob = "optimizer"
)

// ReadWeights reads a policy and its optimizer by their hashes.
func (s *Service) ReadWeights(ctx context.Context, tx Tx, chooser, optimizer string) (policy.Chooser,
	policy.Optimizer, error) {
	weights, err := tx.BankContents().Blob(ctx, policyBlob, chooser)
	if err != nil {
		return nil, nil, err
	}
	state, err := tx.BankContents().Blob(ctx, optimizerBlob, optimizer)
	if err != nil {
		return nil, nil, err
	}
	return s.ports.Controller.Decode(weights, state)
}

// StoreWeights stores a policy and its optimizer under their hashes.
func (s *Service) StoreWeights(ctx context.Context, tx Tx, p policy.Chooser, o policy.Optimizer) error {
	weights, state, err := s.ports.Controller.Encode(p, o)
	if err != nil {
		return err
	}
	if err := tx.BankContents().PutBlob(ctx, policyBlob, p.Hash(), weights); err != nil {
		return err
	}
	return tx.BankContents().PutBlob(ctx, optimizerBlob, o.Hash(), state)
}
