package distill

import (
	"encoding/json"

	"cairn/internal/run"
	"cairn/internal/skill"
	"cairn/internal/transcript"
)

// Stage is how far a task is.
type Stage string

const (
	Chunked   Stage = "chunked"
	Recalled  Stage = "recalled"
	Extracted Stage = "extracted"
	Packaged  Stage = "packaged"
	EndedTask Stage = "ended"
)

// Outcome is what became of a task.
type Outcome string

const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged" // the skill says all of it already; its evidence grew
	Staged    Outcome = "staged"    // a risky change, which waits for approval
	Skipped   Outcome = "skipped"   // nothing reusable
	Failed    Outcome = "failed"
)

// Task is one reusable piece of a conversation and what was made of it.
type Task struct {
	Ref        run.Ref
	Key        string // stable: of the batch and the messages, not of the model's name for it
	Position   int    // from 0
	Name       string
	Seqs       []int
	Lang       string
	Stage      Stage
	Outcome    Outcome
	Reason     string
	Query      string
	Candidates []Candidate
	Draft      *skill.Draft
	Based      Base // the version that the draft was written on, zero for none
	Package    *Package
	Skill      int64
	Version    int
	Notes      []string
}

// Candidate is a skill that the model was shown, under a handle.
type Candidate struct {
	Handle  string `json:"handle"`
	Skill   int64  `json:"skill"`
	Version int    `json:"version"`
}

// WrittenFile is an optional file as a model wrote it, or why there is none.
type WrittenFile struct {
	Kind    string // scripts or reference
	Name    string
	Content string
	Reason  string // why it could not be written; empty when it was
}

// Package is a version made ready to be committed on Base. The document itself
// is small, so it is kept with the task; the zip is in the object store.
type Package struct {
	Skill   int64         `json:"skill"` // 0 to create
	Base    int           `json:"base"`
	Version skill.Version `json:"version"`
	Bytes   int           `json:"bytes"`
	Same    bool          `json:"same"`   // equal to the head: nothing to commit but evidence
	Staged  bool          `json:"staged"` // a risky change of a skill in force: it waits for approval
}

// Status is the state in which a package makes a skill.
func (p Package) Status() skill.Status {
	if len(p.Version.Risk) > 0 {
		return skill.Candidate
	}
	return skill.Active
}

// Accepted is a conversation with its request, as it is made durable.
type Accepted struct {
	Workspace    int64
	Key          string // the caller's id of the request
	ArgsSHA      [32]byte
	Spec         json.RawMessage
	Conversation transcript.Conversation
	Channel      string
	Fresh        bool                                 // a deliberate redo: a new generation
	WorkflowID   func(generation, attempt int) string // of the run that is made
}
