package bank

import (
	"context"

	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/store"
)

// Kinds of blobs.
const (
	policyBlob    = "policy"
	optimizerBlob = "optimizer"
)

// ReadWeights reads a policy and its optimizer by their hashes.
func (s *Service) ReadWeights(ctx context.Context, tx store.Tx, chooser, optimizer string) (policy.Chooser,
	policy.Optimizer, error) {
	weights, err := tx.Banks().Blob(ctx, policyBlob, chooser)
	if err != nil {
		return nil, nil, err
	}
	state, err := tx.Banks().Blob(ctx, optimizerBlob, optimizer)
	if err != nil {
		return nil, nil, err
	}
	return s.ports.Controller.Decode(weights, state)
}

// StoreWeights stores a policy and its optimizer under their hashes.
func (s *Service) StoreWeights(ctx context.Context, tx store.Tx, p policy.Chooser, o policy.Optimizer) error {
	weights, state, err := s.ports.Controller.Encode(p, o)
	if err != nil {
		return err
	}
	if err := tx.Banks().PutBlob(ctx, policyBlob, p.Hash(), weights); err != nil {
		return err
	}
	return tx.Banks().PutBlob(ctx, optimizerBlob, o.Hash(), state)
}
