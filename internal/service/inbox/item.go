package inbox

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/skill"
	"cairn/internal/service/library"
)

// Kinds of items.
const (
	Candidate = "candidate" // a new skill
	Draft     = "draft"     // a new skill that a better version can also activate
	Change    = "change"    // a new version of a skill
	Removal   = "removal"   // a skill is archived or deleted
	Memory    = "memory"    // a memory write
	Update    = "update"    // of the policy of a bank of memory skills
	Edit      = "edit"      // of a bank of memory skills, by the designer
)

// Item is one thing that waits.
type Item struct {
	ID        string             `json:"id" doc:"s and the number of a skill, c and that of a change, m and that of a memory write, or u or r and that of a bank of memory skills, for an update of its policy or a round of the designer"`
	Kind      string             `json:"kind" enum:"candidate,draft,change,removal,memory,update,edit"`
	Title     string             `json:"title" doc:"Name of the skill or of the bank, or kind of the memory"`
	Summary   string             `json:"summary" doc:"What the item is or changes, in one line"`
	Reason    string             `json:"reason" doc:"Why it waits"`
	Severity  approval.Severity  `json:"severity,omitempty" doc:"The worst of the findings" enum:"block,review,note"`
	Findings  []approval.Finding `json:"findings"`
	State     string             `json:"state" enum:"pending,expired" doc:"An expired item can no longer be approved"`
	Origin    string             `json:"origin"`
	Run       string             `json:"run,omitempty"`
	SkillID   int64              `json:"skill_id,omitempty"`
	Base      int                `json:"base_version,omitempty" doc:"The version that a change is based on"`
	SHA       string             `json:"sha" doc:"Send it with the approval; it changes with the item"`
	CreatedAt time.Time          `json:"created_at"`
	ExpiresAt time.Time          `json:"expires_at,omitzero"`
	// Canary is set while a part of the conversations sees a change.
	Canary *library.CanaryState `json:"canary,omitempty" doc:"How the change does in the part of the conversations that sees it"`
}

// Detail is an item with everything that a decision needs.
type Detail struct {
	Item
	Diff     string `json:"diff" doc:"Unified diff against the version in force, the operations of a memory write, or the comparisons of an update"`
	Conflict string `json:"conflict,omitempty" doc:"Why the item can only be approved with a text of yours"`
	// The two other sides of a three-way comparison, if the version in force is newer than the base.
	DiffTheirs   string         `json:"diff_theirs,omitempty" doc:"What the version in force changed in the base version"`
	DiffProposed string         `json:"diff_proposed,omitempty" doc:"What the item changes in the base version"`
	Editable     *Text          `json:"editable,omitempty" doc:"The text that an edit replaces; absent for a removal"`
	Quality      *skill.Quality `json:"quality,omitempty" doc:"The judge's score"`
	Eta          float32        `json:"eta,omitempty" doc:"Reliability of the version in force, 0 to 1"`
	Evidence     []Excerpt      `json:"evidence" doc:"Beginnings of the parts of conversations from which the item was written"`
}

// Text is what a person can change before an approval.
type Text struct {
	Description string   `json:"description,omitempty" doc:"Of a skill, one line"`
	Content     string   `json:"content,omitempty" doc:"Of a skill: SKILL.md without its front matter"`
	Facts       []string `json:"facts,omitempty" doc:"Of a memory write: one text for each operation, empty for a removal"`
}

// Excerpt is a part of a conversation from which an item was written.
type Excerpt struct {
	Conversation string `json:"conversation"`
	From         int    `json:"from" doc:"First message"`
	To           int    `json:"to" doc:"Last message"`
	Text         string `json:"text" doc:"The first messages"`
}

// urgency orders items: those that can be decided first, and of them the worst first.
func (i Item) urgency() int {
	rank := slices.Index([]approval.Severity{approval.Block, approval.Review, approval.Note, ""}, i.Severity)
	if i.State != "pending" {
		rank += 10
	}
	return rank
}

func itemOf(p library.Proposal) Item {
	out := Item{Title: p.Head.Name, Summary: p.Head.Description, Severity: approval.Worst(p.Findings),
		Findings: append([]approval.Finding{}, p.Findings...), State: "pending", Origin: p.Next.Origin,
		Run: p.Next.Run, SkillID: p.Head.ID, SHA: p.SHA, CreatedAt: p.Head.UpdatedAt}
	if p.Change == nil {
		out.ID, out.Kind, out.Reason = fmt.Sprintf("s%d", p.Head.ID), Candidate, "new skill"
		if p.Head.Status == skill.DraftStatus {
			out.Kind = Draft
		}
		if p.Next.Origin == string(agent.OriginImport) {
			out.Reason = "imported"
		}
		return out
	}
	out.ID, out.Kind, out.Reason = fmt.Sprintf("c%d", p.Change.ID), Change, p.Change.Reason
	if p.Removal() {
		out.Kind = Removal
	}
	out.Summary = cmp.Or(p.Change.Gist, p.Change.Op+" "+p.Head.Name)
	out.State, out.Base, out.Origin, out.Run = p.Change.State, p.Change.Base, p.Change.Origin, p.Change.Version.Run
	out.CreatedAt, out.ExpiresAt, out.Canary = p.Change.CreatedAt, p.Change.ExpiresAt, p.Canary
	return out
}

func memoryItem(w memory.Pending) Item {
	findings := w.Findings()
	return Item{ID: fmt.Sprintf("m%d", w.ID), Kind: Memory, Title: string(w.Store), Summary: w.Gist,
		Reason: w.Reason, Severity: approval.Worst(findings), Findings: append([]approval.Finding{}, findings...),
		State: w.State, Origin: w.Origin, Run: w.Run, SHA: w.SHA(), CreatedAt: w.CreatedAt, ExpiresAt: w.ExpiresAt}
}
