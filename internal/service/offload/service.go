// Package offload shortens long threads and gives access to the removed content. It stores tool
// results and older messages, and replaces them by handles and records; package
// internal/domain/workingmemory has the rules. Offloaded content can be searched, read and
// restored.
//
// A run asks a model for records, one per group of messages. Each method that a workflow calls may
// be repeated at any time. If a model returns no valid record, the messages are kept.
package offload

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
)

// Starter starts workflows in Temporal.
type Starter interface {
	Start(ctx context.Context, workspaceKey, channel string, r run.Run) error
	Ended(ctx context.Context, workflowID string) error // waits until a workflow has ended
}

// Ports are the dependencies of the service.
type Ports struct {
	Store   *store.Store
	Ledger  *ledger.Ledger
	Starter Starter // nil without Temporal
}

// Service shortens threads and reads offloaded content.
type Service struct{ Ports }

// New returns a Service.
func New(p Ports) *Service {
	return &Service{Ports: p}
}

// Spec is the configuration of a run, pinned when the run is created.
type Spec struct {
	Model  string          `json:"model"`
	Lang   string          `json:"lang"`
	System string          `json:"system"` // rendered instructions
	Limits Limits          `json:"limits"`
	Timing agentrun.Timing `json:"timing"`
	Groups []Group         `json:"groups"`
	Cycle  *Cycle          `json:"cycle,omitempty"` // set for a conversation
}

// Limits bound the input and output of the model.
type Limits struct {
	ResultChars    int `json:"result_chars"`    // of one tool result; the blob keeps the full result
	MaterialTokens int `json:"material_tokens"` // of the messages in one request
	Repairs        int `json:"repairs"`         // maximum number of further calls after unusable output
	ReplyTokens    int `json:"reply_tokens"`
}

// Group is a list of messages that one record replaces.
type Group struct {
	Handle   string `json:"handle"`
	Messages int    `json:"messages"`
}

// Cycle is one compaction of a conversation, up to a turn, with the review before it.
type Cycle struct {
	After  int             `json:"after,omitempty"` // last turn of the previous record, 0 without one
	Upto   int             `json:"upto"`
	Tokens int             `json:"tokens"`          // of the messages to replace
	Flush  string          `json:"flush,omitempty"` // run of the review, "" without one
	Budget agent.Budget    `json:"budget,omitzero"` // of the review
	Pace   agentrun.Timing `json:"pace,omitzero"`   // of the review
}

// CompactionResult is the result of a run.
type CompactionResult struct {
	Degraded string   `json:"degraded,omitempty"` // why there are no records
	Records  []string `json:"records,omitempty"`  // one per group
	Tokens   int      `json:"tokens"`             // of the records

	// Fields of the compaction of a conversation.
	Upto    int      `json:"upto,omitempty"`
	Was     int      `json:"tokens_before,omitempty"`
	Handles []string `json:"handles,omitempty"`
	Flush   string   `json:"flush_run,omitempty"`
}

// SpecOf decodes the pinned configuration of r.
func SpecOf(r run.Run) (s Spec, err error) {
	if err = json.Unmarshal(r.Spec, &s); err != nil {
		err = fmt.Errorf("decode the configuration of run %s: %w", r.Ref.Run, err)
	}
	return s, err
}

// ResultOf decodes the result of a run that has ended.
func ResultOf(r run.Run) (*CompactionResult, error) {
	out, err := resultOf(r)
	return &out, err
}

func resultOf(r run.Run) (out CompactionResult, err error) {
	if err = json.Unmarshal(r.Result, &out); err != nil {
		err = fmt.Errorf("decode the result of run %s: %w", r.Ref.Run, err)
	}
	return out, err
}
