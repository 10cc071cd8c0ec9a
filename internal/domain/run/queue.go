package run

import (
	"encoding/json"
	"time"
)

// AddQueue is the number of open adds and the age of the oldest.
type AddQueue struct {
	Mine, Everyone       int           // of the workspace and of the deployment
	MineAge, EveryoneAge time.Duration // of the oldest
}

// NewAgentRun is a run to record. If a run with the same Key exists, it is returned instead.
type NewAgentRun struct {
	Kind         Kind
	Key          string
	Generation   int // from 1; increased if a request is repeated on purpose
	ArgsSHA      [32]byte
	Conversation int64  // 0 for none
	Parent       string // "" for none
	Spec         json.RawMessage
	WorkflowID   string
	Add          *Add // of a session that one model call adds
}

// Add is what a run that one model call does has in the queue of its subject.
type Add struct {
	Subject string // hash of the subject
	Joins   string // runs of one call have the same
	Tokens  int    // estimated size of the session
}

// OpenAdd is an add that has not ended.
type OpenAdd struct {
	Run    Run
	Joins  string // adds of one call have the same
	Tokens int
	Batch  string // first run of its call, if it is another
	Step   string // of its call in the ledger, empty if it has none
}
