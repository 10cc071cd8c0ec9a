package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/service/channel"
)

// DeliverService sends deliveries.
type DeliverService interface {
	Next(ctx context.Context, ws, route int64) (id int64, err error)
	SendPart(ctx context.Context, a channel.Account, ws, id int64) (channel.Progress, error)
	GiveUp(ctx context.Context, ws, id int64, reason string) error
}

// Deliver are the activities of the workflow Deliver.
type Deliver struct {
	Service DeliverService
	Account channel.Account // of the queue
}

// RegisterMain registers the database steps with w.
func (a Deliver) RegisterMain(w worker.ActivityRegistry) {
	register(w, contract.NextDelivery, a.NextDelivery)
	register(w, contract.GiveUp, a.GiveUp)
}

// RegisterAccount registers the step that needs the credentials of the account with w.
func (a Deliver) RegisterAccount(w worker.ActivityRegistry) {
	register(w, contract.SendPart, a.SendPart)
}

// NextDelivery finds the next delivery of a route.
func (a Deliver) NextDelivery(
	ctx context.Context,
	in contract.DeliverInput,
) (out contract.NextDeliveryResult, err error) {
	out.Delivery, err = a.Service.Next(ctx, in.Workspace, in.Route)
	return out, temporalError(err)
}

// SendPart sends the next message of a delivery.
func (a Deliver) SendPart(ctx context.Context, in contract.DeliveryInput) (contract.SendPartResult, error) {
	p, err := a.Service.SendPart(ctx, a.Account, in.Workspace, in.Delivery)
	return contract.SendPartResult{Done: p.Done, Spacing: p.Spacing}, sendError(err)
}

// GiveUp ends a delivery that failed for too long.
func (a Deliver) GiveUp(ctx context.Context, in contract.GiveUpInput) error {
	return temporalError(a.Service.GiveUp(ctx, in.Workspace, in.Delivery, in.Reason))
}
