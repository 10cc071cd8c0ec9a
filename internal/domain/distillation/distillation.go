package distillation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"cairn/internal/domain/approval"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/review"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
)

// Result is the stored result of a run.
type Result struct {
	Outcome run.Outcome          `json:"-"`
	Gate    *transcript.Decision `json:"gate,omitempty"`
	Code    string               `json:"code,omitempty"` // code of the error that ended the run early
	Tasks   int                  `json:"tasks"`
	Created int                  `json:"created"`
	Updated int                  `json:"updated"`
	Failed  int                  `json:"failed"`
}

// AddUp counts tasks by outcome ("" for a task that has not ended) and derives the result of the run.
func AddUp(outcomes []Outcome) Result {
	r := Result{Tasks: len(outcomes)}
	for _, outcome := range outcomes {
		switch outcome {
		case Created:
			r.Created++
		case Updated, Unchanged, Staged:
			r.Updated++
		case Failed, "":
			r.Failed++
		}
	}
	switch {
	case r.Failed > 0 && r.Failed == r.Tasks:
		r.Outcome = run.Failed
	case r.Failed > 0:
		r.Outcome = run.CompletedPartial
	case r.Created+r.Updated == 0:
		r.Outcome = run.NothingToExtract
	default:
		r.Outcome = run.Completed
	}
	return r
}

// Commit holds the arguments of a commit other than the package.
type Commit struct {
	Doc      index.Doc   // search document; the owner is set by the store
	Near     index.Query // finds skills that are too similar for a new one
	MergeSim float64     // minimum cosine similarity for that
	Keep     int         // number of versions to keep, 0 for all
}

// Args returns the arguments of a commit for the operation log.
func (c Commit) Args(t Task) any {
	return map[string]any{"skill": t.Package.Skill, "base": t.Package.Base,
		"content": fmt.Sprintf("%x", t.Package.Version.ContentSHA)}
}

// TooNear reports whether a hit is too similar to the skill to create.
func (c Commit) TooNear(hits []index.Hit) bool {
	for _, h := range hits {
		if h.Cosine >= c.MergeSim {
			return true
		}
	}
	return false
}

// Results of a comparison.
const (
	BetterNew     = "new"
	BetterCurrent = "current"
	BetterNone    = "tie" // equal, or equal in one order and not in the other
)

// Comparison is the result of comparing an update with the version in force.
type Comparison struct {
	Base   int    `json:"base"` // the version in force
	SHA    string `json:"sha"`  // content of the update
	Better string `json:"better,omitempty"`
	Reason string `json:"reason,omitempty"` // the model's, or why there is no verdict
}

// Covers reports whether the comparison is that of a package.
func (c *Comparison) Covers(p Package) bool {
	return c != nil && c.Base == p.Base && c.SHA == ContentOf(p)
}

// ContentOf returns the hash of the content of a package in hexadecimal digits.
func ContentOf(p Package) string { return fmt.Sprintf("%x", p.Version.ContentSHA) }

// Findings returns why an update with this comparison needs a person, nil if the model prefers the update.
func (c Comparison) Findings() []approval.Finding {
	text := ""
	switch c.Better {
	case BetterNew:
		return nil
	case BetterCurrent:
		text = "the judge prefers the current version: " + c.Reason
	case BetterNone:
		text = "the judge finds the update no better than the current version: " + c.Reason
	default:
		text = "the judge gave no verdict on the update: " + c.Reason
	}
	return []approval.Finding{approval.NewFinding(review.Compare, approval.Review, "", "", text)}
}

// Skipped returns the task ended without a skill.
func (t Task) Skipped(reason string) Task {
	t.Stage, t.Outcome, t.Reason = EndedTask, Skipped, reason
	return t
}

// Kinds of files, which are also their folders in a package.
const (
	Scripts   = skill.Scripts
	Reference = skill.Reference
)

// Unwritten returns the files of a task that a model must write.
func (t Task) Unwritten() []skill.FilePlan {
	return slices.Concat(unwritten(t.Draft.Scripts, Scripts), unwritten(t.Draft.Others, Reference))
}

// unwritten returns the planned files that a model must write: valid names, each once, without text
// in the draft.
func unwritten(plan []skill.FilePlan, kind string) []skill.FilePlan {
	kept, _ := skill.CheckPlan(plan, kind)
	return slices.DeleteFunc(kept, func(f skill.FilePlan) bool { return f.Code != "" })
}

// waitReason returns the texts of the findings that need a person, in one line.
func waitReason(findings []approval.Finding) string {
	var out []string
	for _, f := range findings {
		if f.Severity == approval.Note {
			continue
		}
		text := f.Check + ": " + f.Text
		if f.Place != "" {
			text += " in " + f.Place
		}
		out = append(out, text)
	}
	if out == nil {
		return "every change needs approval"
	}
	return strings.Join(out, "; ")
}

// CachedFailure is the reason why an identical request failed.
type CachedFailure struct {
	Code   fault.Code
	Reason string
	Left   time.Duration // until it is forgotten
}

// Refusal says why a task of a run is not attempted, and how to attempt it now.
func (f CachedFailure) Refusal(ref run.Ref) string {
	return fmt.Sprintf(
		"not repeated for another %s: the same messages failed before (%s: %s); to repeat them now, run "+
			"`cairn runs retry %s --fresh`",
		remaining(f.Left),
		f.Code,
		f.Reason,
		ref.Run,
	)
}

// remaining formats a duration in hours and minutes, rounded up.
func remaining(d time.Duration) string {
	minutes := max(1, int((d+time.Minute-1)/time.Minute))
	if minutes < 60 {
		return fmt.Sprintf("%d min", minutes)
	}
	return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
}

// Base is the version on which a draft was written.
type Base struct {
	Skill   int64
	Version int
}

// Progress is the changing part of a run's status. It is much cheaper to read than a Report.
type Progress struct {
	Run     string         `json:"run"`
	Status  run.Status     `json:"status"`
	Outcome run.Outcome    `json:"outcome,omitempty"`
	Attempt int            `json:"attempt"` // increased by a retry
	Tasks   []TaskProgress `json:"tasks"`
	Calls   int            `json:"model_calls"`
	Tokens  int64          `json:"tokens"`
}

// TaskProgress is the progress of one task.
type TaskProgress struct {
	Key     string  `json:"key"`
	Name    string  `json:"task"`
	Stage   Stage   `json:"stage"`
	Outcome Outcome `json:"outcome,omitempty"`
}

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

	BasePackage string // key of the package of Base, whose other files are copied
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
