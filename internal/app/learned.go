package app

import (
	"context"

	"cairn/internal/domain/approval"
	"cairn/internal/service/inbox"
)

// learned are changes of memory skills. Their service is built after the inbox, which the tools of
// agents need.
type learned struct{ late func() inbox.Learned }

func (l learned) Waiting(ctx context.Context, ws int64) ([]approval.Learned, error) {
	return l.late().Waiting(ctx, ws)
}

func (l learned) Approve(ctx context.Context, ws int64, c approval.Learned) (version int, err error) {
	return l.late().Approve(ctx, ws, c)
}

func (l learned) Reject(ctx context.Context, ws int64, c approval.Learned) error {
	return l.late().Reject(ctx, ws, c)
}
