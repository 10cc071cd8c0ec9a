package distill

import (
	"encoding/json"
	"strings"

	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
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
	Staged    Outcome = "staged"    // a change that waits for approval
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
	Based      Base           // the version that the draft was written on, zero for none
	Quality    *skill.Quality // what the judge thinks of the draft, nil when it was not asked or said nothing
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
	Same    bool          `json:"same"` // equal to the head: nothing to commit but evidence
	// a change of a skill in force that waits for approval: it is risky, or all do
	Staged bool `json:"staged"`
	Poor   bool `json:"poor"` // judged below what a skill needs
	Asks   bool `json:"asks"` // approval is asked for, whatever it says

	basePackage string // key of the package of Base, for what goes on from it
}

// Status is the state in which a package makes a skill.
func (p Package) Status() skill.Status {
	switch {
	case len(p.Version.Risk) > 0:
		return skill.Candidate
	case p.Poor:
		return skill.DraftStatus
	case p.Asks:
		return skill.Candidate
	}
	return skill.Active
}

// StatusAfter is the state of a skill once a package has updated it. A draft
// leaves that state when the judge finds it better now; a risky one waits for
// approval, since nobody has looked at it yet.
func (p Package) StatusAfter(was skill.Status) skill.Status {
	if was == skill.DraftStatus && (p.Version.Quality != nil || len(p.Version.Risk) > 0) {
		return p.Status()
	}
	return was
}

// WaitsFor says why a change waits for approval.
func (p Package) WaitsFor() string {
	if len(p.Version.Risk) > 0 {
		return "risk: " + strings.Join(p.Version.Risk, "; ")
	}
	return "every change waits for approval"
}

// AcceptedRequest is a conversation with its request, as it is made durable.
type AcceptedRequest struct {
	Workspace    int64
	Key          string // the caller's id of the request
	ArgsSHA      [32]byte
	Spec         json.RawMessage
	Conversation transcript.Conversation
	Channel      string
	Fresh        bool                                 // a deliberate redo: a new generation
	WorkflowID   func(generation, attempt int) string // of the run that is made
}
