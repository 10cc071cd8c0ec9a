package store

import (
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/store/dbsqlc"
)

// PutOutcomes stores a score of decisions.
func (q OutcomeRepository) PutOutcomes(ctx context.Context, decisions []string, o learning.Outcome) error {
	if len(decisions) == 0 {
		return nil
	}
	return classify("store the outcome", q.q.OutcomesPut(ctx,
		dbsqlc.OutcomesPutParams{WorkspaceID: q.ws, OpID: o.Op, RunID: o.Run, Source: o.Source, Score: o.Score,
			Voter: o.Voter, Decisions: decisions}))
}

// DropOutcomes deletes the outcomes of an operation.
func (q OutcomeRepository) DropOutcomes(ctx context.Context, op string, decisions []string) error {
	return classify("delete the outcomes", q.q.OutcomesDrop(ctx,
		dbsqlc.OutcomesDropParams{WorkspaceID: q.ws, OpID: op, Decisions: texts(decisions)}))
}

// Outcomes returns the outcomes of decisions, by operation and decision.
func (q OutcomeRepository) Outcomes(ctx context.Context, decisions []string) ([]learning.Outcome, error) {
	rows, err := q.q.OutcomesOf(ctx, dbsqlc.OutcomesOfParams{WorkspaceID: q.ws, Ids: texts(decisions)})
	out := make([]learning.Outcome, len(rows))
	for i, r := range rows {
		out[i] = learning.Outcome{Decision: r.DecisionID, Op: r.OpID, Score: r.Score, Voter: r.Voter}
	}
	return out, classify("read the outcomes", err)
}

// Learnable returns the decisions that an update may learn from.
func (q OutcomeRepository) Learnable(ctx context.Context, bank int64, oldest, most int) ([]string, error) {
	ids, err := q.q.DecisionsLearnable(ctx,
		dbsqlc.DecisionsLearnableParams{WorkspaceID: q.ws, BankID: bank, Oldest: int32(oldest), MaxRows: int32(most)})
	return ids, classify("find the decisions to learn from", err)
}

// Claim assigns decisions to an update.
func (q OutcomeRepository) Claim(ctx context.Context, run string, decisions []string) error {
	_, err := q.q.DecisionsClaim(ctx, dbsqlc.DecisionsClaimParams{RunID: &run, WorkspaceID: q.ws,
		Ids: texts(decisions)})
	return classify("claim the decisions", err)
}

// LockExploration serializes exploration in the workspace.
func (q OutcomeRepository) LockExploration(ctx context.Context) error {
	return classify("lock the exploration", q.q.ExplorationLock(ctx, q.ws))
}

// Explored returns the number of sampled decisions in the last 24 hours.
func (q OutcomeRepository) Explored(ctx context.Context) (int, error) {
	n, err := q.q.ExploredLately(ctx, q.ws)
	return int(n), classify("count the sampled decisions", err)
}

// RecentSkills returns the memory skills that versions of a bank introduced, the latest first.
func (q OutcomeRepository) RecentSkills(ctx context.Context, bank int64, number, most int) (out []learning.RecentSkills,
	err error) {
	rows, err := q.q.VersionNewcomers(ctx,
		dbsqlc.VersionNewcomersParams{WorkspaceID: q.ws, BankID: bank, Number: int32(number), MaxRows: int32(most)})
	for _, r := range rows {
		out = append(out, learning.RecentSkills{Version: int(r.Number), Skills: r.Fresh, Explored: int(r.Explored)})
	}
	return out, classify("find new skills", err)
}
