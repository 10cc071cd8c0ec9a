package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"cairn/internal/domain/contract"
)

const (
	sendTime      = time.Minute    // limit of one attempt to send a message
	sendPatience  = 24 * time.Hour // after which a delivery is dead
	sendsAtOnce   = 200            // messages before Deliver continues as new
	sendRetryMost = 10 * time.Minute
)

// Deliver sends the deliveries of a chat one after another, and each as its messages. It ends when nothing is left;
// the relay starts it again for the next one.
func Deliver(ctx workflow.Context, in contract.DeliverInput) error {
	news := workflow.GetSignalChannel(ctx, contract.SignalDeliver)
	for sent := 0; sent < sendsAtOnce; {
		for news.ReceiveAsync(nil) { // the next step sees what they announce
		}
		next, err := execute[contract.NextDeliveryResult](
			ctx, databaseStep(defaultTimeouts(), "find the next delivery"), contract.NextDelivery, in)
		if err != nil {
			return err
		}
		if next.Delivery == 0 && news.Len() == 0 {
			return nil
		}
		if next.Delivery == 0 {
			continue
		}
		n, err := deliver(ctx, contract.DeliveryInput{DeliverInput: in, Delivery: next.Delivery})
		if err != nil {
			return err
		}
		sent += n
	}
	return workflow.NewContinueAsNewError(ctx, Deliver, in)
}

// deliver sends the messages of a delivery. One that fails for too long is ended, so that the next one can be sent.
func deliver(ctx workflow.Context, in contract.DeliveryInput) (sent int, err error) {
	options := workflow.ActivityOptions{
		TaskQueue: contract.DeliverQueue(in.Account), Summary: "send a message",
		StartToCloseTimeout: sendTime, ScheduleToCloseTimeout: sendPatience,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: sendRetryMost,
		},
	}
	for {
		part, err := execute[contract.SendPartResult](ctx, options, contract.SendPart, in)
		if err != nil && ctx.Err() != nil {
			return sent, err
		}
		if err != nil {
			_, reason := explain(err)
			give := contract.GiveUpInput{DeliveryInput: in, Reason: reason}
			return sent, perform(ctx, databaseStep(defaultTimeouts(), "end the delivery"), contract.GiveUp, give)
		}
		if sent++; part.Done {
			return sent, nil
		}
		if err := workflow.Sleep(ctx, part.Spacing); err != nil {
			return sent, err
		}
	}
}
