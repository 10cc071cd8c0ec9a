// Package offload keeps working memory: threads that have grown too long are put
// away and stood for by pointers and records (internal/domain/workingmemory says how), and
// what was put away is searched, read and given back. A record is asked of a
// model by a run, group by group; each method that a workflow calls may be run
// again at any time. Whatever a model makes of it, nothing is lost: a record that
// is none leaves the messages as they were.
package offload

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/ledger"
)

// Store opens transactions.
type Store interface {
	WithOffload(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

// Starter brings runs to Temporal.
type Starter interface {
	Start(ctx context.Context, workspaceKey, channel string, r run.Run) error
	Ended(ctx context.Context, workflowID string) error // waits for the end of a workflow
}

// Ports are what the service works with.
type Ports struct {
	Store   Store
	Ledger  *ledger.Ledger
	Starter Starter // nil without Temporal
}

// Service is the use-case.
type Service struct{ Ports }

// New makes the service. A required port that is nil is an error.
func New(p Ports) (*Service, error) {
	err := ports.Require("offload", map[string]any{"Store": p.Store, "Ledger": p.Ledger})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

// Spec is a run's configuration, pinned when the run is made.
type Spec struct {
	Model  string          `json:"model"`
	Lang   string          `json:"lang"`
	System string          `json:"system"` // the instructions as they are sent
	Limits Limits          `json:"limits"`
	Timing agentrun.Timing `json:"timing"`
	Groups []Group         `json:"groups"`
	Cycle  *Cycle          `json:"cycle,omitempty"` // of a conversation
}

// Limits bound what a model is told and asked for.
type Limits struct {
	ResultChars    int `json:"result_chars"`    // of one tool result; the blob keeps all of it
	MaterialTokens int `json:"material_tokens"` // of the messages in one request
	Repairs        int `json:"repairs"`         // more requests at most for an answer that is none
	ReplyTokens    int `json:"reply_tokens"`
}

// Group is some messages that one record will stand for.
type Group struct {
	Handle   string `json:"handle"`
	Messages int    `json:"messages"`
}

// Cycle is the turn of a conversation up to which records stand for it, and the
// review that comes before.
type Cycle struct {
	After  int             `json:"after,omitempty"` // the turn up to which the record before stands, 0 without one
	Upto   int             `json:"upto"`
	Tokens int             `json:"tokens"`          // of what goes
	Flush  int64           `json:"flush,omitempty"` // run of the review, 0 without one
	Budget agent.Budget    `json:"budget,omitzero"` // of the review
	Pace   agentrun.Timing `json:"pace,omitzero"`   // of the review
}

// Compaction is the record that a conversation's requests begin with.
type Compaction struct {
	Conversation int64
	Upto         int // turn
	Run          int64
	Content      string
	Tokens       int
	Degraded     string // why no model has made it; empty when one has
}

// CompactionResult is what became of a run.
type CompactionResult struct {
	Degraded string   `json:"degraded,omitempty"` // why there are no records
	Records  []string `json:"records,omitempty"`  // one a group
	Tokens   int      `json:"tokens"`             // of the records

	// Of a conversation.
	Upto    int      `json:"upto,omitempty"`
	Was     int      `json:"tokens_before,omitempty"`
	Handles []string `json:"handles,omitempty"`
	Flush   int64    `json:"flush_run,omitempty"`
}

// SpecOf reads the configuration that r is pinned to.
func SpecOf(r run.Run) (s Spec, err error) {
	if err = json.Unmarshal(r.Spec, &s); err != nil {
		err = fmt.Errorf("decode the configuration of run %d: %w", r.Ref.Run, err)
	}
	return s, err
}

// ResultOf reads what became of a run that has ended.
func ResultOf(r run.Run) (*CompactionResult, error) {
	out, err := resultOf(r)
	return &out, err
}

func resultOf(r run.Run) (out CompactionResult, err error) {
	if err = json.Unmarshal(r.Result, &out); err != nil {
		err = fmt.Errorf("decode the result of run %d: %w", r.Ref.Run, err)
	}
	return out, err
}
