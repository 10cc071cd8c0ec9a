package cases

import (
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/ports"
	"cairn/internal/service/learning/bank"
	"cairn/internal/store"
)

// Ports are the dependencies of the service.
type Ports struct {
	Store *store.Store
	Banks *bank.Service
}

// Service records judgements of replies and lists cases.
type Service struct{ ports Ports }

// New returns a service. It returns an error if a port is nil.
func New(p Ports) (*Service, error) {
	err := ports.Require("cases", map[string]any{"Store": p.Store, "Banks": p.Banks})
	if err != nil {
		return nil, err
	}
	return &Service{p}, nil
}

// List lists the open hard cases of a bank, latest first.
func (s *Service) List(ctx context.Context, ws int64, name string, most int) (out []learning.Case, err error) {
	err = s.ports.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		head, err := s.ports.Banks.ReadHead(ctx, tx, bank.OrDefault(name))
		if err == nil {
			out, err = Open(ctx, tx, head.ID, most)
		}
		return err
	})
	return out, err
}
