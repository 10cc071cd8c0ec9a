package run

import (
	"time"

	"github.com/google/uuid"
)

// CallKey is where a model call stands in the ledger. Step is a path such as
// "chunk" or "<task>/extract"; Round is 0, then one for each repair.
type CallKey struct {
	Ref
	Step  string
	Round int
}

// CallState is what is known of a call.
type CallState string

const (
	CallStarted CallState = "started" // sent, or about to be, under a live lease
	CallDone    CallState = "done"    // the reply is stored
	CallFailed  CallState = "failed"  // the endpoint refused, nothing to use
	CallUnknown CallState = "unknown" // in flight at a crash
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
	Estimated  bool
	CostMicros *int64
	ErrorClass string
	Error      string
	StartedAt  time.Time
	FinishedAt *time.Time
}

// Holder identifies one attempt at a call, so that only the attempt that holds
// the lease can extend it or report its failure.
type Holder = uuid.UUID
