package store

import (
	"context"

	"cairn/internal/domain/learning"
	"cairn/internal/store/dbsqlc"
)

// WorkspaceKey returns the key that identifies the workspace in workflows.
func (q WorkspaceRepository) WorkspaceKey(ctx context.Context) (string, error) {
	self, err := q.Self(ctx)
	return self.Key, err
}

// LockProbes serializes the use of the daily probe budget.
func (q ProbeRepository) LockProbes(ctx context.Context) error {
	return classify("lock the probes", q.q.ProbeLock(ctx, q.ws))
}

// ProbesSpent returns the number of probes in the last 24 hours.
func (q ProbeRepository) ProbesSpent(ctx context.Context) (int, error) {
	n, err := q.q.ProbesSpent(ctx, q.ws)
	return int(n), classify("count the probes", err)
}

// PutProbe stores an open probe. An existing one with its number stays unchanged.
func (q ProbeRepository) PutProbe(ctx context.Context, p learning.Probe) error {
	return classify("store a probe", q.q.ProbePut(ctx,
		dbsqlc.ProbePutParams{WorkspaceID: q.ws, RunID: p.Run, Number: int32(p.Number), ConversationID: p.Conversation,
			BankID:   p.Bank,
			Question: storable(p.Question), Answer: storable(p.Answer), Evidence: int32s(p.Evidence),
			Decisions: texts(p.Decisions)}))
}

// ProbesOf returns the probes of a run, by number.
func (q ProbeRepository) ProbesOf(ctx context.Context, run string) ([]learning.Probe, error) {
	rows, err := q.q.ProbesOfRun(ctx, dbsqlc.ProbesOfRunParams{WorkspaceID: q.ws, RunID: run})
	return probesOf(rows), classify("list the probes", err)
}

// EndProbe moves an open probe to its final state.
func (q ProbeRepository) EndProbe(ctx context.Context, p learning.Probe) (bool, error) {
	n, err := q.q.ProbeEnd(ctx, dbsqlc.ProbeEndParams{State: p.State, Score: p.Score, Note: storable(p.Note),
		WorkspaceID: q.ws, RunID: p.Run, Number: int32(p.Number)})
	return n == 1, classify("end a probe", err)
}

// Probes returns the probes of a bank, those of the latest run first.
func (q ProbeRepository) Probes(ctx context.Context, bank int64, most int) ([]learning.Probe, error) {
	rows, err := q.q.ProbesOf(ctx, dbsqlc.ProbesOfParams{WorkspaceID: q.ws, BankID: bank, MaxRows: int32(most)})
	return probesOf(rows), classify("list the probes", err)
}

func probesOf(rows []dbsqlc.Probe) []learning.Probe {
	out := make([]learning.Probe, len(rows))
	for i, r := range rows {
		out[i] = learning.Probe{Run: r.RunID, Number: int(r.Number), Conversation: r.ConversationID, Bank: r.BankID,
			Question: r.Question, Answer: r.Answer, Evidence: ints(r.Evidence),
			Decisions: r.Decisions, State: r.State, Score: r.Score, Note: r.Note, CreatedAt: r.CreatedAt,
			EndedAt: r.EndedAt}
	}
	return out
}

// Behind returns memories with the decisions that wrote them.
func (q ProbeRepository) Behind(ctx context.Context, memories []string) ([]learning.MemoryUse, error) {
	rows, err := q.q.DecisionsOfMemories(ctx, dbsqlc.DecisionsOfMemoriesParams{WorkspaceID: q.ws, Ids: texts(memories)})
	out := make([]learning.MemoryUse, len(rows))
	for i, r := range rows {
		out[i] = learning.MemoryUse{Memory: r.ExternalID, Decision: r.DecisionID, Content: r.Content}
	}
	return out, classify("read the decisions of memories", err)
}
