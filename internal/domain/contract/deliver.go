package contract

import (
	"fmt"
	"time"
)

// Deliver is the workflow that sends the deliveries of a chat in order: DeliverInput → no result.
// SignalDeliver means that there is a new delivery.
const Deliver = "Deliver"

// SignalDeliver carries nothing.
const SignalDeliver = "deliver"

// Activities of Deliver. SendPart runs in the process that has the credentials of the account.
const (
	NextDelivery = "NextDelivery" // DeliverInput → NextDeliveryResult
	SendPart     = "SendPart"     // DeliveryInput → SendPartResult
	GiveUp       = "GiveUp"       // GiveUpInput → nothing
)

// DeliverInput identifies a route: a chat whose messages are sent in order.
type DeliverInput struct {
	Workspace    int64  `json:"workspace"`
	WorkspaceKey string `json:"workspace_key"`
	Route        int64  `json:"route"`
	Account      string `json:"account"`
}

// NextDeliveryResult is the next delivery of a route, 0 without one.
type NextDeliveryResult struct {
	Delivery int64 `json:"delivery,omitempty"`
}

// DeliveryInput identifies a delivery.
type DeliveryInput struct {
	DeliverInput
	Delivery int64 `json:"delivery"`
}

// SendPartResult is the progress of a delivery.
type SendPartResult struct {
	Done    bool          `json:"done,omitempty"`
	Spacing time.Duration `json:"spacing,omitempty"` // before the next message
}

// GiveUpInput ends a delivery that failed for too long.
type GiveUpInput struct {
	DeliveryInput
	Reason string `json:"reason"`
}

// DeliverID returns the workflow ID of a route.
func DeliverID(workspaceKey string, route int64) string {
	return fmt.Sprintf("deliver/%s/%d", workspaceKey, route)
}

// DeliverQueue returns the task queue of an account.
func DeliverQueue(account string) string { return "cairn-deliver/" + account }
