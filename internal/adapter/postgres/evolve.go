package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/service/learning"
)

// evolveStore is the store as the use-case over memory skills sees it.
type evolveStore struct{ *Store }

// Evolve is the store for memory skills.
func (s *Store) Evolve() learning.Store { return evolveStore{s} }

// WithEvolve runs fn in a transaction that has entered ws.
func (s evolveStore) WithEvolve(ctx context.Context, ws int64, fn func(context.Context, learning.Tx) error) error {
	return s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error { return fn(ctx, learningTx(q)) })
}

// PutDecision keeps the choice of a span; the first one stays.
func (q decisionRepository) PutDecision(ctx context.Context, d learning.Decision) error {
	choice, err := encode("the choice", d.Choice)
	if err != nil {
		return err
	}
	var canary *int32
	if d.Canary != 0 {
		n := int32(d.Canary)
		canary = &n
	}
	return classify("keep the decision", q.q.DecisionPut(ctx, dbsqlc.DecisionPutParams{WorkspaceID: q.ws, ID: d.ID, RunID: d.Run, ConversationID: d.Conversation, Span: int32(d.Span), FromSeq: int32(d.FromSeq),
		ToSeq: int32(d.ToSeq), BankID: d.Bank, BankVersion: int32(d.Version), Choice: choice, Sampled: !d.Choice.Greedy, Canary: canary}))
}

// DecisionAt reads the decision of a span, if it was made.
func (q decisionRepository) DecisionAt(ctx context.Context, id string) (learning.Decision, bool, error) {
	r, err := q.q.DecisionGet(ctx, dbsqlc.DecisionGetParams{WorkspaceID: q.ws, ID: id})
	if isNoRows(err) {
		return learning.Decision{}, false, nil
	}
	if err != nil {
		return learning.Decision{}, false, classify("read the decision", err)
	}
	d, err := decisionOf(r)
	return d, err == nil, err
}

func decisionOf(r dbsqlc.Decision) (d learning.Decision, err error) {
	d = learning.Decision{ID: r.ID, Run: r.RunID, Conversation: r.ConversationID, Span: int(r.Span), FromSeq: int(r.FromSeq), ToSeq: int(r.ToSeq), Bank: r.BankID, Version: int(r.BankVersion), CreatedAt: r.CreatedAt}
	if r.Canary != nil {
		d.Canary = int(*r.Canary)
	}
	if err = json.Unmarshal(r.Choice, &d.Choice); err == nil && r.Outcome != nil {
		d.Outcome = new(learning.SpanOutcome)
		err = json.Unmarshal(r.Outcome, d.Outcome)
	}
	if err != nil {
		err = fmt.Errorf("decode decision %s: %w", r.ID, err)
	}
	return d, err
}

// EndDecision keeps what became of a span; the first outcome stays.
func (q decisionRepository) EndDecision(ctx context.Context, id string, o learning.SpanOutcome) error {
	raw, err := encode("the outcome", o)
	if err != nil {
		return err
	}
	return classify("end the decision", q.q.DecisionEnd(ctx, dbsqlc.DecisionEndParams{Outcome: raw, WorkspaceID: q.ws, ID: id}))
}

// Decisions are those of a run in the order of its spans.
func (q decisionRepository) Decisions(ctx context.Context, run int64) ([]learning.Decision, error) {
	rows, err := q.q.DecisionsOfRun(ctx, dbsqlc.DecisionsOfRunParams{WorkspaceID: q.ws, RunID: run})
	if err != nil {
		return nil, classify("list the decisions", err)
	}
	out := make([]learning.Decision, len(rows))
	for i, r := range rows {
		if out[i], err = decisionOf(r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// MemoryUse are the memories that a run was shown, with the decisions behind them.
func (q decisionRepository) MemoryUse(ctx context.Context, run int64) ([]learning.MemoryUse, error) {
	rows, err := q.q.DecisionsBehind(ctx, dbsqlc.DecisionsBehindParams{WorkspaceID: q.ws, RunID: run})
	out := make([]learning.MemoryUse, len(rows))
	for i, r := range rows {
		out[i] = learning.MemoryUse{Memory: r.ExternalID, Decision: r.DecisionID, Content: r.Content}
	}
	return out, classify("read what the run was shown", err)
}

// PutTrained keeps what a step came to; the first result stays.
func (q trainingRepository) PutTrained(ctx context.Context, run int64, step string, conversation int64, result any) error {
	raw, err := encode("the result", result)
	if err != nil {
		return err
	}
	return classify("keep a step", q.q.TrainingStepPut(ctx, dbsqlc.TrainingStepPutParams{WorkspaceID: q.ws, RunID: run, Step: step, ConversationID: keyOrNull(conversation), Result: raw}))
}

// Trained reads what a step came to.
func (q trainingRepository) Trained(ctx context.Context, run int64, step string, into any) (bool, error) {
	raw, err := q.q.TrainingStepGet(ctx, dbsqlc.TrainingStepGetParams{WorkspaceID: q.ws, RunID: run, Step: step})
	if isNoRows(err) {
		return false, nil
	}
	if err != nil {
		return false, classify("read a step", err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return false, fmt.Errorf("decode step %s of run %d: %w", step, run, err)
	}
	return true, nil
}

// TrainedUnder are the results of the steps whose name begins with prefix.
func (q trainingRepository) TrainedUnder(ctx context.Context, run int64, prefix string) (map[string]json.RawMessage, error) {
	rows, err := q.q.TrainingStepsUnder(ctx, dbsqlc.TrainingStepsUnderParams{WorkspaceID: q.ws, RunID: run, Prefix: &prefix})
	if err != nil {
		return nil, classify("read the steps", err)
	}
	out := map[string]json.RawMessage{}
	for _, r := range rows {
		out[r.Step] = r.Result
	}
	return out, nil
}

// DropTrained forgets the steps whose name begins with prefix.
func (q trainingRepository) DropTrained(ctx context.Context, run int64, prefix string) error {
	return classify("drop the steps", q.q.TrainingStepsDrop(ctx, dbsqlc.TrainingStepsDropParams{WorkspaceID: q.ws, RunID: run, Prefix: &prefix}))
}

// ShownTo notes that a run has shown a conversation to a model.
func (q decisionRepository) ShownTo(ctx context.Context, run, conversation int64) error {
	return classify("note a conversation", q.q.RunConversationPut(ctx, dbsqlc.RunConversationPutParams{WorkspaceID: q.ws, RunID: run, ConversationID: conversation}))
}
