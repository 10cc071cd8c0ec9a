package inspect

import (
	"context"

	"cairn/internal/domain/audit"
	"cairn/internal/store"
)

// AuditPorts are the dependencies of the service.
type AuditPorts struct{ Store store.AuditLog }

// AuditService reads audit events, and records acts that change no rows. Acts that change rows are
// recorded by their services, in their transactions.
type AuditService struct{ AuditPorts }

// NewAudit returns a Service.
func NewAudit(p AuditPorts) *AuditService {
	return &AuditService{AuditPorts: p}
}

// List returns at most most events of a workspace, the latest first. A workspace of 0 means those of
// operators.
func (s *AuditService) List(ctx context.Context, ws int64, f audit.Filter, most int) ([]audit.Event, error) {
	return s.Store.AuditEvents(ctx, ws, f, most)
}

// page is the number of events that Export holds in memory.
const page = 500

// Export calls fn with each event of a workspace, the latest first, up to the first error.
func (s *AuditService) Export(ctx context.Context, ws int64, f audit.Filter, fn func(audit.Event) error) error {
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
func (s *AuditService) Record(ctx context.Context, ws int64, action audit.Action, object string) error {
	return s.Store.RecordAct(ctx, ws, action, object)
}

// RecordOperator records an act of the context's operator that changes no rows. Call it before the act
// discloses anything.
func (s *AuditService) RecordOperator(ctx context.Context, action audit.Action, object string) error {
	return s.Store.RecordOperator(ctx, action, object)
}
