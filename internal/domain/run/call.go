package run

import (
	"time"

	"github.com/google/uuid"
)

// CallKey identifies a model call of a run in the ledger. Step is a path such as "segment" or
// "<task>/extract". Round is 0 for the first request, and increases by 1 with each repair.
type CallKey struct {
	Ref
	Step  string
	Round int
}

// CallState is the state of a ledger row.
type CallState string

const (
	CallStarted CallState = "started" // sent, or about to be sent, under a live lease
	CallDone    CallState = "done"    // the reply is stored
	CallFailed  CallState = "failed"  // the endpoint refused; there is no reply
	CallUnknown CallState = "unknown" // in flight when its process crashed
)

// Call is a ledger row.
type Call struct {
	Key        CallKey
	State      CallState
	Stage      string
	Model      string
	Attempts   int
	Unknown    int
	Input      int64
	Output     int64
	Cached     int64 // part of Input that was read from a cache
	Written    int64 // part of Input that was written to a cache
	Estimated  bool
	CostMicros *int64
	ErrorClass string
	Error      string
	StartedAt  time.Time
	FinishedAt *time.Time
	Status     int           // HTTP status of the latest failure, 0 without a response
	RetryAt    *time.Time    // when a failed call is sent again; nil if it is not
	RetryIn    time.Duration // the same, from now; 0 if it is due
}

// Waits reports whether the endpoint could not serve the call, which is sent again.
func (c Call) Waits() bool { return c.State == CallFailed && c.RetryAt != nil }

// Holder identifies one attempt at a call. Only the attempt that holds the lease can extend it or
// report the call's failure.
type Holder = uuid.UUID
