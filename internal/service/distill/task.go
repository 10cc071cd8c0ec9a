package distill

import (
	"encoding/json"

	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
)

// Stage is the progress of a task.
type Stage string

const (
	Chunked   Stage = "chunked"
	Recalled  Stage = "recalled"
	Extracted Stage = "extracted"
	Packaged  Stage = "packaged"
	EndedTask Stage = "ended"
)

// Outcome is the result of a task.
type Outcome string

const (
	Created   Outcome = "created"
	Updated   Outcome = "updated"
	Unchanged Outcome = "unchanged" // adds only evidence to the skill
	Staged    Outcome = "staged"    // a pending change
	Skipped   Outcome = "skipped"   // nothing reusable
	Failed    Outcome = "failed"
)

// Task is a reusable part of a conversation and its results.
type Task struct {
	Ref        run.Ref
	Key        string // derived from the batch and the messages, not from the model's name for it
	Position   int    // from 0
	Name       string
	Seqs       []int
	Lang       string
	Stage      Stage
	Outcome    Outcome
	Reason     string
	Query      string // what the user wants, in one sentence
	Verdict    string // how the task seemed to end: success, failure, mixed, unknown or, if not stated, empty
	Proof      []int  // messages that show it
	Candidates []Candidate
	Draft      *skill.Draft
	Based      Base           // version that the draft was written on, zero for none
	Quality    *skill.Quality // score of the judge, nil if not judged
	Comparison *Comparison    // of the last package with the version in force, nil if not compared
	Package    *Package
	Skill      int64
	Version    int
	Notes      []string
}

// Candidate is a skill shown to the model under a handle.
type Candidate struct {
	Handle  string `json:"handle"`
	Skill   int64  `json:"skill"`
	Version int    `json:"version"`
}

// WrittenFile is an optional file written by a model, or the reason why it is missing.
type WrittenFile struct {
	Kind    string // scripts or reference
	Name    string
	Content string
	Reason  string // why it is missing; empty if it was written
}

// Package is a version ready to commit on Base. The document is stored with the task, the zip in
// the object store.
type Package struct {
	Skill   int64         `json:"skill"` // 0 creates a skill
	Base    int           `json:"base"`
	Version skill.Version `json:"version"`
	Bytes   int           `json:"bytes"`
	Same    bool          `json:"same"`   // equal to the head: only evidence to commit
	Active  bool          `json:"active"` // Base is the version of an active skill
	// Staged marks a change of an active skill that needs approval.
	Staged bool         `json:"staged"`
	State  skill.Status `json:"state"` // of a new skill, or of a draft that this version improves

	basePackage string // key of the package of Base, whose other files are copied
}

// StatusAfter returns the state of a skill after the package has updated it. A draft becomes active
// if the judge now accepts it. A risky draft becomes a candidate, because no one has reviewed it
// yet.
func (p Package) StatusAfter(was skill.Status) skill.Status {
	if was == skill.DraftStatus && (p.Version.Quality != nil || p.State == skill.Candidate) {
		return p.State
	}
	return was
}

// WaitsFor returns the reason why a change needs approval.
func (p Package) WaitsFor() string { return waitReason(p.Version.Findings) }

// AcceptedRequest is a request with its conversation, ready to store.
type AcceptedRequest struct {
	Workspace    int64
	Key          string // ID of the request, set by the caller
	ArgsSHA      [32]byte
	Spec         json.RawMessage
	Conversation transcript.Conversation
	Channel      string
	Fresh        bool                                 // repeats a request as a new generation
	WorkflowID   func(generation, attempt int) string // workflow ID of the created run
}
