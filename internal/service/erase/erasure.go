package erase

import (
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
)

// Choices of what happens to the memories and skills that came of a
// conversation and of nothing else. Those with other sources stay, and lose
// the source that goes.
const (
	Keep       = "keep"
	Quarantine = "quarantine"
	Delete     = "delete"
)

// Target is what is to be erased.
type Target struct {
	Workspace    int64
	Conversation int64  // 0 for the whole workspace
	Derived      string // Keep when empty; a whole workspace keeps nothing
}

func (t Target) check() (Target, error) {
	if t.Derived == "" {
		t.Derived = Keep
	}
	choices := []string{Keep, Quarantine, Delete}
	if !slices.Contains(choices, t.Derived) {
		return t, fault.New(fault.InvalidArgument, "what came of a conversation cannot be "+t.Derived,
			"use one of: "+strings.Join(choices, ", "))
	}
	return t, nil
}

// Erasure is one erase, under way or ended. It holds numbers and opaque keys
// only, for it outlives what was erased.
type Erasure struct {
	ID            int64            `json:"erasure"`
	Workspace     int64            `json:"-"`
	WorkspaceKey  string           `json:"workspace_key" doc:"Stands for the workspace in workflow ids"`
	Conversation  int64            `json:"conversation,omitempty" doc:"Its number; 0 is the whole workspace"`
	Derived       string           `json:"derived"`
	Ended         bool             `json:"ended"`
	Deleted       map[string]int64 `json:"deleted" doc:"Rows by table"`
	Remaining     map[string]int64 `json:"remaining" doc:"Rows by table when they were counted last; all 0 when it has ended"`
	Skills        int64            `json:"derived_skills" doc:"That came of the conversation and of nothing else"`
	Memories      int64            `json:"derived_memories"`
	Objects       int              `json:"objects" doc:"Of the package store, counted before the first was deleted"`
	ObjectsLeft   int              `json:"objects_left"`
	Workflows     int              `json:"workflows" doc:"That were open and were stopped"`
	WorkflowsLeft int              `json:"workflows_left"`
	RequestedAt   time.Time        `json:"requested_at"`
	EndedAt       *time.Time       `json:"ended_at,omitempty"`
}

// Rows adds up what was deleted.
func (e Erasure) Rows() (n int64) {
	for _, of := range e.Deleted {
		n += of
	}
	return n
}

// Derivation is a memory or skill that came of a conversation.
type Derivation struct {
	Kind string `json:"kind" enum:"memory,skill"`
	ID   int64  `json:"id"`
	Ref  string `json:"ref" doc:"A skill's name, a memory's id"`
	Sole bool   `json:"sole" doc:"Nothing else stands behind it; what has other sources stays"`
}

// Plan is what an erase would do.
type Plan struct {
	Rows    map[string]int64 `json:"rows" doc:"By table"`
	Derived []Derivation     `json:"derived,omitempty" doc:"Of a conversation"`
}

// Package is where the bytes of a skill's package are.
type Package struct {
	SHA [32]byte
	Key string
}

// ExternalCounts is what was found outside of the database; nil is not looked at.
type ExternalCounts struct {
	Objects       *int
	ObjectsLeft   *int
	Stopped       []string // run ids of workflows
	WorkflowsLeft *int
}

// Execution is one open workflow.
type Execution struct {
	Workflow string
	Run      string // Temporal's own id
}

// WorkflowID is the id of the workflow that erases.
func (e Erasure) WorkflowID() string { return contract.EraseID(e.WorkspaceKey, e.Conversation) }
