// Package audit reads audit events, and records acts that change no rows. Acts that change rows are
// recorded by their services, in their transactions.
package audit

import (
	"context"

	"cairn/internal/domain/audit"
	"cairn/internal/domain/ports"
	"cairn/internal/store"
)

// Ports are the dependencies of the service.
type Ports struct{ Store store.AuditLog }

// Service reads events.
type Service struct{ Ports }

// New returns a Service. It fails if a required port is nil.
func New(p Ports) (*Service, error) {
	if err := ports.Require("audit", map[string]any{"Store": p.Store.Store}); err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

// List returns at most most events of a workspace, the latest first. A workspace of 0 means those of
// operators.
func (s *Service) List(ctx context.Context, ws int64, f audit.Filter, most int) ([]audit.Event, error) {
	return s.Store.AuditEvents(ctx, ws, f, most)
}

// page is the number of events that Export holds in memory.
const page = 500

// Export calls fn with each event of a workspace, the latest first, up to the first error.
func (s *Service) Export(ctx context.Context, ws int64, f audit.Filter, fn func(audit.Event) error) error {
	for {
		events, err := s.List(ctx, ws, f, page)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := fn(e); err != nil {
				return err
			}
			f.Cursor = e.ID
		}
		if len(events) < page {
			return nil
		}
	}
}

// Record records an act in a workspace whose service records none.
func (s *Service) Record(ctx context.Context, ws int64, action audit.Action, object string) error {
	return s.Store.RecordAct(ctx, ws, action, object)
}

// RecordOperator records an act of the context's operator that changes no rows. Call it before the act
// discloses anything.
func (s *Service) RecordOperator(ctx context.Context, action audit.Action, object string) error {
	return s.Store.RecordOperator(ctx, action, object)
}
