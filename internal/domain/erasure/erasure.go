package erasure

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
)

// Choices for memories and skills that were derived from the conversation only. Those with other
// sources are kept and lose this source.
const (
	Keep       = "keep"
	Quarantine = "quarantine"
	Delete     = "delete"
)

// Target is the workspace, conversation or subject to erase.
type Target struct {
	Workspace    int64
	Conversation int64  // 0 for the whole workspace or a subject
	Subject      string // ID of a target of memories, or empty
	Derived      string // empty means Keep; a whole workspace and a subject keep nothing
}

// Name returns the subject as a target.
func (t Target) Name() (memory.Target, error) { return memory.NewTarget(memory.Personal, t.Subject) }

// Check returns the target with its defaults, or what is wrong with it.
func (t Target) Check() (Target, error) {
	if t.Subject != "" {
		t.Conversation, t.Derived = 0, Delete
		_, err := t.Name()
		return t, err
	}
	if t.Derived == "" {
		t.Derived = Keep
	}
	choices := []string{Keep, Quarantine, Delete}
	if !slices.Contains(choices, t.Derived) {
		return t, fault.New(fault.InvalidArgument, "invalid choice for derived data: "+t.Derived,
			"use one of: "+strings.Join(choices, ", "))
	}
	return t, nil
}

// Erasure is the state of one erasure. It contains only numbers and opaque keys, because it is kept
// after the data is erased.
type Erasure struct {
	ID            int64            `json:"erasure"`
	Workspace     int64            `json:"-"`
	WorkspaceKey  string           `json:"workspace_key" doc:"Key of the workspace in workflow IDs"`
	Conversation  int64            `json:"conversation,omitempty" doc:"ID of the conversation, 0 for the whole workspace or a subject"`
	Subject       string           `json:"subject,omitempty" doc:"Of a subject: SHA-256 of the workspace key, a colon and the ID of the target, in hexadecimal"`
	Derived       string           `json:"derived"`
	Ended         bool             `json:"ended"`
	Deleted       map[string]int64 `json:"deleted" doc:"Rows by table that were deleted, or whose text was removed"`
	Remaining     map[string]int64 `json:"remaining" doc:"Remaining rows by table at the last count, all 0 after the end"`
	Skills        int64            `json:"derived_skills" doc:"Skills derived from this conversation only"`
	Memories      int64            `json:"derived_memories"`
	Objects       int              `json:"objects" doc:"Objects in the package store, counted before the deletion"`
	ObjectsLeft   int              `json:"objects_left"`
	Workflows     int              `json:"workflows" doc:"Open workflows that were terminated"`
	WorkflowsLeft int              `json:"workflows_left"`
	RequestedAt   time.Time        `json:"requested_at"`
	EndedAt       *time.Time       `json:"ended_at,omitempty"`

	NeedsReview []Item `json:"needs_review,omitempty" doc:"Of a subject: data with other sources, which is kept"`
}

// Item is data that concerns a subject and is kept, because it has other sources.
type Item struct {
	Kind string `json:"kind" enum:"memory,skill,turns,soul,identity"`
	Ref  string `json:"ref" doc:"ID of the memory or conversation, name of the skill, or version"`
}

// Whole reports whether the erasure is of the whole workspace.
func (e Erasure) Whole() bool { return e.Conversation == 0 && e.Subject == "" }

// Start returns the input for the start of the workflow.
func (e Erasure) Start() contract.EraseStart {
	return contract.EraseStart{WorkspaceKey: e.WorkspaceKey, Erasure: e.ID, Conversation: e.Conversation,
		Subject: e.Subject != ""}
}

// Rows returns the total number of deleted rows.
func (e Erasure) Rows() (n int64) {
	for _, of := range e.Deleted {
		n += of
	}
	return n
}

// Derivation is a memory or skill derived from a conversation or from a subject's messages.
type Derivation struct {
	Kind string `json:"kind" enum:"memory,skill"`
	ID   int64  `json:"id"`
	Ref  string `json:"ref" doc:"Name of the skill or ID of the memory"`
	Sole bool   `json:"sole" doc:"True if it has no other source; others are kept"`
}

// Plan describes what an erasure would delete.
type Plan struct {
	Subject string           `json:"subject,omitempty" doc:"ID of the subject that would be erased"`
	Rows    map[string]int64 `json:"rows" doc:"Rows by table"`
	Derived []Derivation     `json:"derived,omitempty" doc:"Memories and skills derived from the conversation, or only from the subject's data"`

	NeedsReview []Item `json:"needs_review,omitempty" doc:"Of a subject: data with other sources, which would be kept"`
}

// Package identifies the stored package of a skill version.
type Package struct {
	SHA [32]byte
	Key string
}

// ExternalCounts counts data outside of the database. Nil means that it was not counted.
type ExternalCounts struct {
	Objects       *int
	ObjectsLeft   *int
	Stopped       []string // run IDs of workflows
	WorkflowsLeft *int
}

// WorkflowID returns the ID of the erasure workflow.
func (e Erasure) WorkflowID() string { return e.Start().WorkflowID() }

// Tombstone identifies the data of an erasure without naming it. The package store keeps it: a
// restored database can come from a backup that was made before the erasure.
type Tombstone struct {
	Token          uuid.UUID `json:"token"`         // of the erasure
	WorkspaceKey   string    `json:"workspace_key"` // in incarnation 1
	Conversation   int64     `json:"conversation,omitempty"`
	ConversationAt time.Time `json:"conversation_created_at,omitzero"` // its number may be assigned again
	Subject        []string  `json:"subject,omitempty"`                // SHA-256 of its names, in hexadecimal
	Derived        string    `json:"derived"`
	RequestedAt    time.Time `json:"requested_at"`
}
