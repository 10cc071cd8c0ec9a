package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/learning"
	"cairn/internal/store/dbsqlc"
)

// PutDecision stores the decision of a span. An existing one stays unchanged.
func (q DecisionRepository) PutDecision(ctx context.Context, d learning.Decision) error {
	choice, err := encode("the choice", d.Choice)
	if err != nil {
		return err
	}
	var canary *int32
	if d.Canary != 0 {
		n := int32(d.Canary)
		canary = &n
	}
	return classify("store the decision", q.q.DecisionPut(ctx,
		dbsqlc.DecisionPutParams{WorkspaceID: q.ws, ID: d.ID, RunID: d.Run, ConversationID: d.Conversation,
			Span: int32(d.Span), FromSeq: int32(d.FromSeq),
			ToSeq: int32(d.ToSeq), BankID: d.Bank, BankVersion: int32(d.Version), Choice: choice,
			Sampled: !d.Choice.Greedy,
			Canary:  canary}))
}

// DecisionAt reads the decision of a span, if it exists.
func (q DecisionRepository) DecisionAt(ctx context.Context, id string) (learning.Decision, bool, error) {
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
	d = learning.Decision{ID: r.ID, Run: r.RunID, Conversation: r.ConversationID, Span: int(r.Span),
		FromSeq: int(r.FromSeq), ToSeq: int(r.ToSeq), Bank: r.BankID, Version: int(r.BankVersion),
		CreatedAt: r.CreatedAt}
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

// EndDecision stores the outcome of a span. An existing outcome stays unchanged.
func (q DecisionRepository) EndDecision(ctx context.Context, id string, o learning.SpanOutcome) error {
	raw, err := encode("the outcome", o)
	if err != nil {
		return err
	}
	return classify("end the decision", q.q.DecisionEnd(ctx,
		dbsqlc.DecisionEndParams{Outcome: raw, WorkspaceID: q.ws, ID: id}))
}

// Decisions returns the decisions of a run in the order of its spans.
func (q DecisionRepository) Decisions(ctx context.Context, run string) ([]learning.Decision, error) {
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

// BankDecisions returns the decisions of a bank before a time and an ID, the latest first. The zero time is none.
func (q DecisionRepository) BankDecisions(ctx context.Context, bank int64, before time.Time, id string, most int) (
	[]learning.Scored, error) {
	rows, err := q.q.DecisionsOfBank(ctx, dbsqlc.DecisionsOfBankParams{WorkspaceID: q.ws, BankID: bank,
		Before: timeOrNil(before), BeforeID: storable(id), MaxRows: int32(most)})
	if err != nil {
		return nil, classify("list the decisions", err)
	}
	out := make([]learning.Scored, len(rows))
	for i, r := range rows {
		out[i].Scores, out[i].Score = int(r.Scores), r.Score
		if out[i].Decision, err = decisionOf(r.Decision); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// MemoryUses returns the memories that were in a run's prompts, with their decisions.
func (q DecisionRepository) MemoryUses(ctx context.Context, run string) ([]learning.MemoryUse, error) {
	rows, err := q.q.DecisionsBehind(ctx, dbsqlc.DecisionsBehindParams{WorkspaceID: q.ws, RunID: run})
	out := make([]learning.MemoryUse, len(rows))
	for i, r := range rows {
		out[i] = learning.MemoryUse{Memory: r.ExternalID, Decision: r.DecisionID, Content: r.Content}
	}
	return out, classify("read the memories of the run's prompts", err)
}

// SaveStepResult stores the result of a step. An existing result stays unchanged.
func (q TrainingRepository) SaveStepResult(ctx context.Context, run, step string, conversation int64,
	result json.RawMessage) error {
	return classify("store a step", q.q.TrainingStepPut(ctx, dbsqlc.TrainingStepPutParams{WorkspaceID: q.ws, RunID: run,
		Step: step, ConversationID: keyOrNull(conversation), Result: result}))
}

// StepResult reads the result of a step.
func (q TrainingRepository) StepResult(ctx context.Context, run, step string) (json.RawMessage, bool, error) {
	raw, err := q.q.TrainingStepGet(ctx, dbsqlc.TrainingStepGetParams{WorkspaceID: q.ws, RunID: run, Step: step})
	if isNoRows(err) {
		return nil, false, nil
	}
	return raw, err == nil, classify("read a step", err)
}

// StepResults returns the results of the steps whose name begins with prefix.
func (q TrainingRepository) StepResults(ctx context.Context, run, prefix string) (map[string]json.RawMessage,
	error) {
	rows, err := q.q.TrainingStepsUnder(ctx,
		dbsqlc.TrainingStepsUnderParams{WorkspaceID: q.ws, RunID: run, Prefix: &prefix})
	if err != nil {
		return nil, classify("read the steps", err)
	}
	out := map[string]json.RawMessage{}
	for _, r := range rows {
		out[r.Step] = r.Result
	}
	return out, nil
}

// DropStepResults deletes the results of the steps whose name begins with prefix.
func (q TrainingRepository) DropStepResults(ctx context.Context, run, prefix string) error {
	return classify("drop the steps", q.q.TrainingStepsDrop(ctx,
		dbsqlc.TrainingStepsDropParams{WorkspaceID: q.ws, RunID: run, Prefix: &prefix}))
}

// ShownTo records that a run has used a conversation in a model call.
func (q TrainingRepository) ShownTo(ctx context.Context, run string, conversation int64) error {
	return classify("record a conversation",
		q.q.RunConversationPut(ctx, dbsqlc.RunConversationPutParams{WorkspaceID: q.ws, RunID: run,
			ConversationID: conversation}))
}
