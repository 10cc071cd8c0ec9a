// Package inbox is the one list of what waits for a person: new skills, changes of skills, memory
// writes, and updates of policies. It owns no data: the items are the candidates, drafts and pending
// changes of the library, the pending writes of the memory, and the updates of the policies of banks
// that too few have voted on, so that an item that was decided elsewhere is gone.
//
//	items, err := service.List(ctx, actor, 100)
//	item, err := service.Show(ctx, actor, "c7")
//	out, err := service.Approve(ctx, actor, "c7", approval.Decision{SHA: item.SHA})
package inbox

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/library"
	memories "cairn/internal/service/memory"
	"cairn/internal/store"
)

// Proposals are the skills that wait.
type Proposals interface {
	Proposals(ctx context.Context, ws int64, max int) ([]library.Proposal, error)
	NewSkill(ctx context.Context, ws, id int64) (library.Proposal, error)
	PendingChange(ctx context.Context, ws, id int64) (library.Proposal, error)
	ProposedDiff(p library.Proposal) string
	ThreeWay(p library.Proposal) (theirs, proposed string)
	Edited(p library.Proposal, text library.EditedText) (library.Proposal, error)
}

// SkillDecisions decides about skills that wait.
type SkillDecisions interface {
	Approve(ctx context.Context, ws, id int64, d approval.Decision) (skill.Head, error)
	ApproveEdited(ctx context.Context, ws, id int64, text library.EditedText, d approval.Decision) (skill.Head, error)
	Reject(ctx context.Context, ws, id int64) (skill.Head, error)
	ApproveChange(ctx context.Context, ws, id int64, d approval.Decision) (skill.Head, error)
	ApproveChangeEdited(ctx context.Context, ws, id int64, text library.EditedText, d approval.Decision) (skill.Head,
		error)
	RejectChange(ctx context.Context, ws, id int64) error
}

// Ports are the dependencies of the service.
type Ports struct {
	Skills      *library.Library
	Memories    *memories.PromptService
	Transcripts *store.Store
	Updates     Learned // of the policies of memory skills
	Rounds      Learned // of the designer of memory skills
}

// Service lists and decides what waits for a person.
type Service struct{ Ports }

// New returns a Service.
func New(p Ports) *Service {
	return &Service{p}
}

// List returns at most max items of each kind, those with the worst findings first, then the oldest.
func (s *Service) List(ctx context.Context, a agent.Actor, max int) ([]Item, error) {
	out := []Item{}
	proposals, err := s.Skills.Proposals(ctx, a.Workspace, max)
	if err != nil {
		return nil, err
	}
	for _, p := range proposals {
		out = append(out, itemOf(p))
	}
	writes, err := s.Memories.PendingList(ctx, a, max)
	if err != nil {
		return nil, err
	}
	for _, w := range writes {
		out = append(out, memoryItem(w))
	}
	learned, err := s.listLearned(ctx, a.Workspace, max)
	if err != nil {
		return nil, err
	}
	out = append(out, learned...)
	slices.SortStableFunc(out, func(x, y Item) int {
		return cmp.Or(cmp.Compare(x.urgency(), y.urgency()), x.CreatedAt.Compare(y.CreatedAt))
	})
	return out, nil
}

// Show returns an item with its diff and evidence.
func (s *Service) Show(ctx context.Context, a agent.Actor, id string) (out Detail, err error) {
	kind, number, err := parse(id)
	if err != nil {
		return out, err
	}
	switch kind {
	case 'm':
		return s.showMemory(ctx, a, number)
	case 'u', 'r':
		return s.showLearned(ctx, a, kind, number)
	}
	p, err := s.proposal(ctx, a, kind, number)
	if err != nil {
		return out, err
	}
	return s.detail(ctx, a, p)
}

func (s *Service) detail(ctx context.Context, a agent.Actor, p library.Proposal) (out Detail, err error) {
	out = Detail{Item: itemOf(p), Diff: s.Skills.ProposedDiff(p), Conflict: p.Conflict, Quality: p.Next.Quality}
	if p.Change != nil {
		out.Eta = p.Head.Eta
	}
	out.DiffTheirs, out.DiffProposed = s.Skills.ThreeWay(p)
	if !p.Removal() {
		out.Editable = &Text{Description: p.Next.Description, Content: p.Next.Body}
	}
	out.Evidence, err = s.evidence(ctx, a.Workspace, p.Next.Sources)
	return out, err
}

func (s *Service) proposal(ctx context.Context, a agent.Actor, kind byte, number int64) (library.Proposal, error) {
	if kind == 's' {
		return s.Skills.NewSkill(ctx, a.Workspace, number)
	}
	return s.Skills.PendingChange(ctx, a.Workspace, number)
}

func (s *Service) showMemory(ctx context.Context, a agent.Actor, number int64) (out Detail, err error) {
	w, err := s.Memories.Waiting(ctx, a, number)
	if err != nil {
		return out, err
	}
	return s.memoryDetail(ctx, a, w)
}

func (s *Service) memoryDetail(ctx context.Context, a agent.Actor, w memory.Pending) (out Detail, err error) {
	out = Detail{Item: memoryItem(w), Diff: strings.Join(w.Lines(), "\n") + "\n", Editable: &Text{}}
	for _, o := range w.Operations {
		out.Editable.Facts = append(out.Editable.Facts, o.Content)
	}
	var sources []skill.Source
	if w.Evidence != nil {
		sources = []skill.Source{evidenceOf(*w.Evidence)}
	}
	out.Evidence, err = s.evidence(ctx, a.Workspace, sources)
	return out, err
}

func evidenceOf(e memory.Evidence) skill.Source {
	return skill.Source{Conversation: e.Conversation, From: e.FromSeq, To: e.ToSeq}
}

const (
	maxEvidence   = 5   // parts of an item
	excerptLines  = 8   // messages of an excerpt
	excerptLength = 200 // characters of a message
)

// evidence reads the beginnings of the parts of conversations from which an item was written.
func (s *Service) evidence(ctx context.Context, ws int64, sources []skill.Source) ([]Excerpt, error) {
	out := []Excerpt{}
	for _, from := range sources[:min(len(sources), maxEvidence)] {
		c, err := s.Transcripts.Excerpt(ctx, ws, from.Conversation, from.From, min(from.To, from.From+excerptLines-1))
		if fault.CodeOf(err) == fault.NotFound { // erased
			continue
		}
		if err != nil {
			return nil, err
		}
		var lines []string
		for _, m := range c.Messages {
			text := strings.Join(strings.Fields(m.Content), " ")
			for _, call := range m.ToolCalls {
				text += fmt.Sprintf(" %s(%s)", call.Name, call.Arguments)
			}
			lines = append(lines, fmt.Sprintf("%d %s: %s", m.Seq, m.Role,
				transcript.Clip(strings.TrimSpace(text), excerptLength)))
		}
		out = append(out, Excerpt{Conversation: c.ID, From: from.From, To: from.To, Text: strings.Join(lines, "\n")})
	}
	return out, nil
}

// Outcome is the result of a decision.
type Outcome struct {
	ID    string `json:"id"`
	State string `json:"state" enum:"approved,rejected"`
	Title string `json:"title,omitempty" doc:"Name of the skill or of the bank"`
	// Version is that in force, 0 for a memory.
	Version int `json:"version,omitempty" doc:"The version in force"`
}

// Approve applies an item. It fails with VersionConflict if the item has changed since it was shown,
// and with OverrideRequired if a blocking finding is not overridden.
func (s *Service) Approve(ctx context.Context, a agent.Actor, id string, d approval.Decision) (Outcome, error) {
	return decide(id, "approved", func(kind byte, number int64) (skill.Head, error) {
		switch kind {
		case 'm':
			_, err := s.Memories.Approve(ctx, a, number, d)
			return skill.Head{}, err
		case 'u', 'r':
			return s.approveLearned(ctx, a, kind, number, d)
		case 's':
			return s.Skills.Approve(ctx, a.Workspace, number, d)
		}
		return s.Skills.ApproveChange(ctx, a.Workspace, number, d)
	})
}

// Reject discards an item. A rejected new skill is archived.
func (s *Service) Reject(ctx context.Context, a agent.Actor, id string) (Outcome, error) {
	return decide(id, "rejected", func(kind byte, number int64) (skill.Head, error) {
		switch kind {
		case 'm':
			_, err := s.Memories.Reject(ctx, a, number)
			return skill.Head{}, err
		case 'u', 'r':
			return s.rejectLearned(ctx, a, kind, number)
		case 's':
			return s.Skills.Reject(ctx, a.Workspace, number)
		}
		return skill.Head{}, s.Skills.RejectChange(ctx, a.Workspace, number)
	})
}

// decide runs a decision about the item with the given ID.
func decide(id, state string, do func(kind byte, number int64) (skill.Head, error)) (Outcome, error) {
	kind, number, err := parse(id)
	if err != nil {
		return Outcome{}, err
	}
	head, err := do(kind, number)
	return Outcome{ID: id, State: state, Title: head.Name, Version: head.Version}, err
}

var itemID = regexp.MustCompile(`^([scmur])([0-9]{1,18})$`)

// parse divides the ID of an item into its kind and number.
func parse(id string) (kind byte, number int64, err error) {
	m := itemID.FindStringSubmatch(strings.ToLower(id))
	if m == nil {
		return 0, 0, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid item %.40q", id),
			"use an ID from the inbox, such as s12, c7, m3, u1 or r1")
	}
	number, err = strconv.ParseInt(m[2], 10, 64)
	return m[1][0], number, err
}
