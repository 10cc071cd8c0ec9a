package bank

import (
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/store"
)

// CasesPorts are the dependencies of the service.
type CasesPorts struct {
	Store *store.Store
	Banks *Service
}

// Cases stores questions about memory. A hard case is a failed question, from which the
// designer learns. Questions with known answers are used by training and trials. Questions come
// from feedback, corrections and imported conversations.
type Cases struct{ ports CasesPorts }

// NewCases returns a service.
func NewCases(p CasesPorts) *Cases {
	return &Cases{p}
}

// List lists the open hard cases of a bank, latest first.
func (s *Cases) List(ctx context.Context, ws int64, name string, most int) (out []learning.Case, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		head, err := s.ports.Banks.ReadHead(ctx, tx, OrDefault(name))
		if err == nil {
			out, err = Open(ctx, tx, head.ID, most)
		}
		return err
	})
	return out, err
}
