package inbox

import (
	"context"
	"fmt"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

// Learned are the changes of memory skills of one kind that too few have voted on: at most one for
// each bank.
type Learned interface {
	Waiting(ctx context.Context, ws int64) ([]approval.Learned, error)
	// Approve returns the version of the bank with the change.
	Approve(ctx context.Context, ws int64, l approval.Learned) (version int, err error)
	Reject(ctx context.Context, ws int64, l approval.Learned) error
}

// learned returns the changes of the kind with a letter.
func (s *Service) learned(letter byte) Learned {
	if letter == 'r' {
		return s.Rounds
	}
	return s.Updates
}

func learnedItem(letter byte, l approval.Learned) Item {
	kind, origin := Update, agent.OriginUser
	if letter == 'r' {
		kind, origin = Edit, agent.OriginDesigner
	}
	return Item{
		ID:        fmt.Sprintf("%c%d", letter, l.BankID),
		Kind:      kind,
		Title:     l.Bank,
		Summary:   l.Summary,
		Reason:    l.Reason,
		State:     "pending",
		Findings:  []approval.Finding{},
		Origin:    string(origin),
		Run:       l.Run,
		Base:      l.Base,
		SHA:       l.SHA,
		CreatedAt: l.CreatedAt,
	}
}

// listLearned returns at most max items of each kind.
func (s *Service) listLearned(ctx context.Context, ws int64, max int) (out []Item, err error) {
	for _, letter := range []byte{'u', 'r'} {
		all, err := s.learned(letter).Waiting(ctx, ws)
		if err != nil {
			return nil, err
		}
		for _, l := range all[:min(max, len(all))] {
			out = append(out, learnedItem(letter, l))
		}
	}
	return out, nil
}

// waitingLearned returns the change of a bank that waits.
func (s *Service) waitingLearned(ctx context.Context, ws int64, letter byte, bankID int64) (approval.Learned, error) {
	all, err := s.learned(letter).Waiting(ctx, ws)
	for _, l := range all {
		if l.BankID == bankID {
			return l, err
		}
	}
	if err == nil {
		err = fault.New(fault.NotFound, fmt.Sprintf("item %c%d not found", letter, bankID),
			"list the items with `cairn inbox`")
	}
	return approval.Learned{}, err
}

func (s *Service) showLearned(ctx context.Context, a agent.Actor, letter byte, bankID int64) (Detail, error) {
	l, err := s.waitingLearned(ctx, a.Workspace, letter, bankID)
	if err != nil {
		return Detail{}, err
	}
	return Detail{Item: learnedItem(letter, l), Diff: l.Lines, Evidence: []Excerpt{}}, nil
}

// approveLearned makes a change active. It returns the bank and its version in the form of the other
// decisions.
func (s *Service) approveLearned(ctx context.Context, a agent.Actor, letter byte, bankID int64,
	d approval.Decision) (skill.Head, error) {
	l, err := s.waitingLearned(ctx, a.Workspace, letter, bankID)
	if err == nil {
		err = d.Check(l.SHA, nil)
	}
	if err != nil {
		return skill.Head{}, err
	}
	version, err := s.learned(letter).Approve(ctx, a.Workspace, l)
	return skill.Head{Name: l.Bank, Version: version}, err
}

func (s *Service) rejectLearned(ctx context.Context, a agent.Actor, letter byte, bankID int64) (skill.Head, error) {
	l, err := s.waitingLearned(ctx, a.Workspace, letter, bankID)
	if err != nil {
		return skill.Head{}, err
	}
	return skill.Head{Name: l.Bank, Version: l.Base}, s.learned(letter).Reject(ctx, a.Workspace, l)
}
