package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/run"
	"cairn/internal/store/dbsqlc"
)

func gateOf(c *learning.Comparison) *readmodel.Gate {
	if c == nil {
		return nil
	}
	return &readmodel.Gate{Mean: c.Mean, Lower: c.Lower, Traces: c.Traces}
}

// ExploreRounds lists the rounds of a bank before a number, the latest first.
func (s Explorer) ExploreRounds(ctx context.Context, ws int64, bank string, before int64, max int) ([]readmodel.Round,
	error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]readmodel.Round, error) {
		rows, err := q.q.ExploreRounds(ctx, dbsqlc.ExploreRoundsParams{WorkspaceID: ws, Bank: storable(bank),
			Before: before, MaxRows: int32(max)})
		if err != nil {
			return nil, classify("list the rounds", err)
		}
		out := make([]readmodel.Round, len(rows))
		for i, row := range rows {
			r, err := roundOf(row)
			if err != nil {
				return nil, err
			}
			out[i] = readmodel.Round{Number: r.Number, Run: r.Run, Base: r.Base, Cases: len(r.Cases),
				Outcome: r.Outcome,
				Note:    r.Note, Gate: gateOf(r.Comparison), CreatedAt: r.CreatedAt, EndedAt: r.EndedAt}
			if r.Candidate != nil {
				out[i].Summary = learning.DescribeCandidate(r.Candidate)
			}
		}
		return out, nil
	})
}

// ExploreTrainings lists the trainings of a bank before a position, the latest first.
func (s Explorer) ExploreTrainings(ctx context.Context, ws int64, bank string, before time.Time, beforeID string,
	max int) ([]readmodel.Training, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]readmodel.Training, error) {
		rows, err := q.q.ExploreTrainings(ctx, dbsqlc.ExploreTrainingsParams{WorkspaceID: ws, Bank: storable(bank),
			Before: timeOrNil(before), BeforeID: storable(beforeID), MaxRows: int32(max)})
		if err != nil {
			return nil, classify("list the trainings", err)
		}
		out := make([]readmodel.Training, len(rows))
		for i, r := range rows {
			var made learning.TrainingResult
			if err := json.Unmarshal(r.Result, &made); err != nil {
				return nil, fmt.Errorf("decode training %s: %w", r.ID, err)
			}
			out[i] = readmodel.Training{Run: r.ID, Status: run.Status(r.Status), Outcome: run.Outcome(r.Outcome),
				Verdict: made.Verdict, Version: made.Version, Stages: made.Stages, Best: made.Best, Note: r.Reason,
				Gate: gateOf(made.Gate), CreatedAt: r.CreatedAt, EndedAt: r.EndedAt}
		}
		return out, nil
	})
}

// ExploreCases lists the hard cases of a bank before an ID, the latest first.
func (s Explorer) ExploreCases(ctx context.Context, ws int64, bank, state string, before int64, runes,
	max int) ([]readmodel.Case, error) {
	return inWorkspace(ctx, s.Store, ws, func(ctx context.Context, q Tx) ([]readmodel.Case, error) {
		rows, err := q.q.ExploreCases(
			ctx,
			dbsqlc.ExploreCasesParams{WorkspaceID: ws, Bank: storable(bank), State: state,
				Before: before, MaxChars: int32(runes), MaxRows: int32(max)},
		)
		out := make([]readmodel.Case, len(rows))
		for i, r := range rows {
			out[i] = readmodel.Case{
				ID:       r.ID,
				Source:   r.Source,
				State:    r.State,
				Question: r.Question,
				Gold: append(
					[]string{},
					r.Gold...),
				Prediction:   r.Prediction,
				Score:        r.Score,
				Failures:     int(r.Failures),
				Conversation: r.Conversation,
				Run:          r.RunID,
				FailedAt:     r.FailedAt,
				CreatedAt:    r.CreatedAt,
			}
		}
		return out, classify("list the cases", err)
	})
}
