package evolution

import (
	"context"
	"time"

	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/run"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/design"
	"cairn/internal/service/learning/episode"
	"cairn/internal/service/learning/runspec"
	"cairn/internal/service/learning/trial"
)

// Outcomes of a round, in addition to those of package trial.
const (
	NoChange = "no_change" // the designer proposed no edits
	NoCases  = "no_cases"  // there were no hard cases
	Waiting  = "waiting"   // the candidate passes the gate, and the owner has to accept it
)

// Round is one round of the designer.
type Round struct {
	Number        int                `json:"round"`
	Run           string             `json:"run"`
	Base          int                `json:"base"` // version of the bank
	Conversations []int64            `json:"-"`
	Cases         []design.MinedCase `json:"cases"`
	Analysis      *design.Analysis   `json:"analysis,omitempty"`
	Proposal      *designer.Proposal `json:"proposal,omitempty"`
	Candidate     *design.Candidate  `json:"candidate,omitempty"`
	Comparison    *trial.Comparison  `json:"comparison,omitempty"`
	Outcomes      episode.Outcomes   `json:"outcomes,omitzero"` // of its trials
	Outcome       string             `json:"outcome,omitempty"`
	Note          string             `json:"note,omitempty"`
	CreatedAt     time.Time          `json:"created_at,omitzero"`
	EndedAt       *time.Time         `json:"ended_at,omitempty"`
}

// read reads a round with its pinned configuration.
func (s *Service) read(ctx context.Context, ref run.Ref, also func(Tx, Spec, bank.Head) error) (r Round, spec Spec,
	head bank.Head, err error) {
	err = s.ports.Store.InWorkspace(ctx, ref.Workspace, func(ctx context.Context, tx Tx) error {
		of, err := tx.Runs().Run(ctx, ref.Run)
		if err != nil {
			return err
		}
		if spec, err = runspec.Decode[Spec](of); err != nil {
			return err
		}
		if r, err = tx.Rounds().RoundOf(ctx, ref.Run); err != nil {
			return err
		}
		if head, err = s.ports.Banks.ReadVersion(ctx, tx, bank.Row{ID: spec.BankID, Name: spec.Bank, Head: spec.Base},
			spec.Base); err != nil || also == nil {
			return err
		}
		return also(tx, spec, head)
	})
	return r, spec, head, err
}
