package store

import (
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
)

// EvaluationRepository reads and writes what only evaluations need.
type EvaluationRepository struct{ session }

// Reopen makes an ended evaluation continue.
func (q EvaluationRepository) Reopen(ctx context.Context, r run.Run, workflowID string) error {
	return q.transaction().Runs().Reopen(ctx, r, workflowID)
}

// Calls returns the calls of a run that have a reply.
func (q EvaluationRepository) Calls(ctx context.Context, id string) (out []learning.EvaluationCall, err error) {
	calls, err := q.transaction().Calls().Calls(ctx, run.Ref{Workspace: q.ws, Run: id})
	for _, c := range calls {
		if c.State != run.CallDone {
			continue
		}
		one := learning.EvaluationCall{Step: c.Key.Step, EvaluationUsage: learning.EvaluationUsage{Calls: 1,
			Input:  int64(c.Input),
			Output: int64(c.Output)}}
		if c.CostMicros != nil {
			one.CostMicros = *c.CostMicros
		} else {
			one.Unpriced = 1
		}
		if c.FinishedAt != nil {
			one.Seconds = c.FinishedAt.Sub(c.StartedAt).Seconds()
		}
		out = append(out, one)
	}
	return out, err
}

// Spent returns the sums of all calls of the workspace that have a reply.
func (q EvaluationRepository) Spent(ctx context.Context) (learning.EvaluationUsage, error) {
	row, err := q.q.WorkspaceSpent(ctx, q.ws)
	return learning.EvaluationUsage{Calls: int(row.Calls), Input: row.InputTokens, Output: row.OutputTokens,
		CostMicros: row.CostMicros, Unpriced: int(row.Unpriced)}, classify("add up the calls", err)
}

// Settings reads the settings of the workspace.
func (q EvaluationRepository) Settings(ctx context.Context) (settings.Settings, error) {
	return q.transaction().Workspaces().Settings(ctx)
}

// SetSettings replaces the settings of the workspace.
func (q EvaluationRepository) SetSettings(ctx context.Context, s settings.Settings) error {
	return q.transaction().Workspaces().SetSettings(ctx, s)
}
