package access

import (
	"crypto/sha256"
	"time"
)

// SupportHash is the SHA-256 hash of a cookie, the only stored form.
type SupportHash = [sha256.Size]byte

// SupportSession is an operator who is signed in.
type SupportSession struct {
	Operator
	Idle bool // no use was recorded in the last minute
}

// WorkspaceSummary is what is known of a workspace.
type WorkspaceSummary struct {
	ID            int64     `json:"id"`
	Key           string    `json:"key" doc:"Identifies it in workflow IDs"`
	State         string    `json:"state" enum:"active,erasing"`
	CreatedAt     time.Time `json:"created_at"`
	Conversations int64     `json:"conversations"`
	Memories      int64     `json:"memories" doc:"Active ones"`
	Skills        int64     `json:"skills" doc:"Active ones"`
	OpenRuns      int64     `json:"open_runs" doc:"Of the last 24 hours"`
	FailedRuns    int64     `json:"failed_runs" doc:"Of the last 24 hours"`
	Waiting       int64     `json:"outbox_tasks"`
	Stuck         int64     `json:"stuck_tasks"`
	Calls         int64     `json:"calls" doc:"Model calls of the last 24 hours"`
	FailedCalls   int64     `json:"failed_calls"`
	Tokens        int64     `json:"tokens"`
	Micros        int64     `json:"cost_micros" doc:"Micro-dollars, of calls with a known price"`
	Unpriced      int64     `json:"unpriced_calls"`
	LastTurn      time.Time `json:"last_turn_at,omitzero"`
}

// WorkspaceCount is a number of calls, runs or outbox tasks of a workspace with the same code.
type WorkspaceCount struct {
	What   string    `json:"what" enum:"call,run,outbox"`
	Kind   string    `json:"kind" doc:"Model of a call, kind of a run or a task"`
	Code   string    `json:"code" doc:"Class of an error, outcome or state"`
	N      int64     `json:"n"`
	Latest time.Time `json:"latest_at"`
}
