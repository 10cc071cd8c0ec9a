package activities

import (
	"context"

	"go.temporal.io/sdk/worker"

	"cairn/internal/domain/contract"
	"cairn/internal/service/channel"
)

// Deliver are the activities of the workflow Deliver.
type Deliver struct {
	Service *channel.Service
	Account channel.Account // of the queue
}

// RegisterMain registers the database steps with w.
func (a Deliver) RegisterMain(w worker.ActivityRegistry) {
	table{
		contract.NextDelivery: step(quick, a.Service.Next),
		contract.GiveUp:       effect(quick, a.Service.GiveUp),
	}.register(w)
}

// RegisterAccount registers the step that needs the credentials of the account with w.
func (a Deliver) RegisterAccount(w worker.ActivityRegistry) {
	table{contract.SendPart: step(sends, a.sendPart)}.register(w)
}

func (a Deliver) sendPart(ctx context.Context, in contract.DeliveryInput) (contract.SendPartResult, error) {
	return a.Service.SendPart(ctx, a.Account, in)
}
