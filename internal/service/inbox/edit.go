package inbox

import (
	"context"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/service/library"
)

// Preview returns an item as it would be with the text of a person: its diff, and the findings about that text.
func (s *Service) Preview(ctx context.Context, a agent.Actor, id string, text Text) (out Detail, err error) {
	kind, number, err := parse(id)
	if err != nil {
		return out, err
	}
	switch kind {
	case 'm':
		return s.previewMemory(ctx, a, number, text)
	case 'u', 'r':
		return out, withoutText(id)
	}
	p, err := s.proposal(ctx, a, kind, number)
	if err != nil {
		return out, err
	}
	if p, err = s.Skills.Edited(p, text.skill()); err != nil {
		return out, err
	}
	return s.detail(ctx, a, p)
}

func (s *Service) previewMemory(ctx context.Context, a agent.Actor, number int64, text Text) (out Detail, err error) {
	w, err := s.Memories.Waiting(ctx, a, number)
	if err != nil {
		return out, err
	}
	sha := w.SHA()
	if w, err = w.Edited(text.Facts); err != nil {
		return out, err
	}
	out, err = s.memoryDetail(ctx, a, w)
	out.SHA = sha
	return out, err
}

func (t Text) skill() library.EditedText {
	return library.EditedText{Description: t.Description, Body: t.Content}
}

// Edit approves an item with the text of a person in place of the proposed one. The result has the origin user. It
// fails as Approve does; the findings are those of the new text.
func (s *Service) Edit(ctx context.Context, a agent.Actor, id string, text Text, d approval.Decision) (Outcome, error) {
	return decide(id, "approved", func(kind byte, number int64) (skill.Head, error) {
		switch kind {
		case 'm':
			_, err := s.Memories.ApproveEdited(ctx, a, number, text.Facts, d)
			return skill.Head{}, err
		case 's':
			return s.Skills.ApproveEdited(ctx, a.Workspace, number, text.skill(), d)
		case 'c':
			return s.Skills.ApproveChangeEdited(ctx, a.Workspace, number, text.skill(), d)
		}
		return skill.Head{}, withoutText(id)
	})
}

// withoutText refuses to edit a change of a bank.
func withoutText(id string) error {
	return fault.New(fault.InvalidArgument, fmt.Sprintf("item %s has no text to edit", id), "approve or reject it")
}

// MaxBulk is the number of items that one request decides.
const MaxBulk = 50

// Choice is an item of a bulk decision.
type Choice struct {
	ID  string `json:"id" maxLength:"20" doc:"The item's ID, such as s12, c7 or m3"`
	SHA string `json:"sha,omitempty" maxLength:"64" doc:"Required to approve: the sha of the item as you have read it"`
}

// BulkOutcome is the result for one item.
type BulkOutcome struct {
	Outcome
	Err error `json:"-"`
}

// ApproveAll approves items without findings, each in a transaction of its own. An item with findings fails with
// OverrideRequired: a person must read them first.
func (s *Service) ApproveAll(ctx context.Context, a agent.Actor, items []Choice) ([]BulkOutcome, error) {
	return bulk(a, items, func(a agent.Actor, c Choice) (Outcome, error) {
		if c.SHA == "" {
			return Outcome{ID: c.ID}, fault.New(fault.InvalidArgument, "missing sha of item "+c.ID,
				"send the sha of each item as you have read it")
		}
		d, err := s.Show(ctx, a, c.ID)
		if err != nil {
			return Outcome{ID: c.ID}, err
		}
		if len(d.Findings) > 0 {
			return Outcome{ID: c.ID, Title: d.Title}, fault.New(fault.OverrideRequired,
				fmt.Sprintf("item %s has findings", c.ID), "show the item, read its findings and decide about it alone")
		}
		return s.Approve(ctx, a, c.ID, approval.Decision{SHA: c.SHA})
	})
}

// RejectAll rejects items, each in a transaction of its own.
func (s *Service) RejectAll(ctx context.Context, a agent.Actor, items []Choice) ([]BulkOutcome, error) {
	return bulk(a, items, func(a agent.Actor, c Choice) (Outcome, error) { return s.Reject(ctx, a, c.ID) })
}

func bulk(a agent.Actor, items []Choice, decide func(agent.Actor, Choice) (Outcome, error)) ([]BulkOutcome, error) {
	if n := len(items); n == 0 || n > MaxBulk {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("%d items", n), fmt.Sprintf("choose 1 to %d", MaxBulk))
	}
	out := make([]BulkOutcome, len(items))
	for i, c := range items {
		each := a
		each.Op = a.Op + "/" + c.ID
		out[i].Outcome, out[i].Err = decide(each, c)
		out[i].ID = c.ID
	}
	return out, nil
}
