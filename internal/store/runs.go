package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/store/dbsqlc"
)

// driveAfter is the time for which the relay leaves a new run to the caller that accepted it and
// starts its workflow.
const driveAfter = 3 * time.Second

// Accept stores a conversation and its run in one transaction, with the outbox task that drives the
// run to its end. If the request was accepted before, it returns that run. The same key for another
// request is OpReused. made is true if the run is new.
func (s *Store) Accept(ctx context.Context, a distillation.AcceptedRequest) (r run.Run, made bool, err error) {
	a.Key = storable(a.Key)
	err = s.within(ctx, byKeys, a.Workspace, func(ctx context.Context, q Tx) error {
		old, exists, err := q.Runs().accepted(ctx, a)
		if err != nil {
			return err
		}
		if exists && !a.Fresh {
			r = old
			return nil
		}
		generation, conversation := old.Generation+1, old.Conversation
		if !exists {
			if conversation, err = q.Transcripts().PutConversation(ctx, a.Conversation, a.Channel); err != nil {
				return err
			}
		}
		id, err := q.q.RunInsert(ctx, dbsqlc.RunInsertParams{WorkspaceID: q.ws, ID: run.NewID(),
			Kind: string(run.Distill), BusinessKey: a.Key, Generation: int32(generation),
			ArgsSha: a.ArgsSHA[:], ConversationID: &conversation, Spec: a.Spec,
			WorkflowID: a.WorkflowID(generation, 1)})
		if isNoRows(err) { // another caller was first, between the look-up and the insert
			r, _, err = q.Runs().accepted(ctx, a)
			return err
		}
		if err != nil {
			return fmt.Errorf("record the run: %w", err)
		}
		made = true
		if err := q.Outbox().enqueueRun(ctx, id, driveAfter); err != nil {
			return err
		}
		r, err = q.Runs().Run(ctx, id)
		return err
	})
	return r, made, err
}

// accepted finds the latest run of a's key, which must belong to the same request.
func (q RunRepository) accepted(ctx context.Context, a distillation.AcceptedRequest) (r run.Run, exists bool,
	err error) {
	row, err := q.q.RunByKey(ctx, dbsqlc.RunByKeyParams{WorkspaceID: q.ws, Kind: string(run.Distill),
		BusinessKey: a.Key})
	if isNoRows(err) {
		return run.Run{}, false, nil
	}
	if err != nil {
		return run.Run{}, false, fmt.Errorf("find the request: %w", err)
	}
	if !bytes.Equal(row.ArgsSha, a.ArgsSHA[:]) {
		return run.Run{}, false, fault.New(fault.OpReused,
			fmt.Sprintf("request %q already exists with other messages or options", a.Key), "use another request ID")
	}
	return runOf(row), true, nil
}

// Run reads a run.
func (q RunRepository) Run(ctx context.Context, id string) (run.Run, error) {
	row, err := q.q.RunGet(ctx, dbsqlc.RunGetParams{WorkspaceID: q.ws, ID: id})
	if err != nil {
		return run.Run{}, q.lostRun(ctx, id, err)
	}
	return runOf(row), nil
}

// RunState reads a run without its configuration.
func (q RunRepository) RunState(ctx context.Context, id string) (run.Run, error) {
	r, err := q.q.RunState(ctx, dbsqlc.RunStateParams{WorkspaceID: q.ws, ID: id})
	if err != nil {
		return run.Run{}, q.lostRun(ctx, id, err)
	}
	return stateOf(r), nil
}

// RunTask is RunState with one of the run's tasks.
func (q TaskRepository) RunTask(ctx context.Context, id string, key string) (run.Run, distillation.Task, error) {
	r, err := q.transaction().Runs().RunState(ctx, id)
	if err != nil {
		return r, distillation.Task{}, err
	}
	t, err := q.Task(ctx, id, key)
	return r, t, err
}

func stateOf(r dbsqlc.RunStateRow) run.Run {
	return runOf(dbsqlc.Run{WorkspaceID: r.WorkspaceID, ID: r.ID, Kind: r.Kind, BusinessKey: r.BusinessKey,
		Generation: r.Generation, Attempt: r.Attempt,
		ArgsSha: r.ArgsSha, ConversationID: r.ConversationID, Status: r.Status, Outcome: r.Outcome, Reason: r.Reason,
		Result:     r.Result,
		WorkflowID: r.WorkflowID, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt, Pruned: r.Pruned})
}

// RunSpec reads the configuration that a run is pinned to.
func (q RunRepository) RunSpec(ctx context.Context, id string) (json.RawMessage, error) {
	raw, err := q.q.RunSpec(ctx, dbsqlc.RunSpecParams{WorkspaceID: q.ws, ID: id})
	return raw, q.lostRun(ctx, id, err)
}

// noRun converts the error of reading a run. It returns nil for nil.
func noRun(id string, err error) error {
	if isNoRows(err) {
		return fault.New(fault.NotFound, fmt.Sprintf("run %s not found", id), "list the runs with `cairn runs list`")
	}
	return classify("read the run", err)
}

// Runs lists the latest runs, newest first.
func (q RunRepository) Runs(ctx context.Context, max int) ([]run.Summary, error) {
	rows, err := q.q.RunsRecent(ctx, dbsqlc.RunsRecentParams{WorkspaceID: q.ws, MaxRows: int32(max)})
	if err != nil {
		return nil, classify("list the runs", err)
	}
	out := make([]run.Summary, len(rows))
	for i, r := range rows {
		out[i] = run.Summary{Title: r.Title, Run: run.Run{Ref: run.Ref{Workspace: q.ws, Run: r.ID},
			Kind: run.Kind(r.Kind), Key: r.BusinessKey, Generation: int(r.Generation),
			Attempt: int(r.Attempt), Status: run.Status(r.Status), Outcome: run.Outcome(r.Outcome), Reason: r.Reason,
			WorkflowID: r.WorkflowID, CreatedAt: r.CreatedAt, EndedAt: r.EndedAt}}
	}
	return out, nil
}

// Redrive gives an open run another attempt with a new workflow. It returns false if the run has
// ended, has another attempt, or has had most of these.
func (q RunRepository) Redrive(ctx context.Context, id string, attempt int, workflowID string, most int) (bool, error) {
	n, err := q.q.RunRedrive(ctx, dbsqlc.RunRedriveParams{WorkspaceID: q.ws, ID: id, Attempt: int32(attempt),
		WorkflowID: workflowID, Most: int32(most)})
	return n == 1, classify("start another attempt at the run", err)
}

// StartRun marks a run as started. It returns false if the run has ended.
func (q RunRepository) StartRun(ctx context.Context, id string) (bool, error) {
	n, err := q.q.RunStart(ctx, dbsqlc.RunStartParams{WorkspaceID: q.ws, ID: id})
	return n == 1, classify("start the run", err)
}

// EndRun ends a run and its open tasks, and removes the outbox task that drives it. A run that has
// ended stays unchanged.
func (q RunRepository) EndRun(ctx context.Context, id string, outcome run.Outcome, reason string, result any) error {
	raw, err := encode("the result", result)
	if err != nil {
		return err
	}
	return classify("end the run", q.q.RunEnd(ctx,
		dbsqlc.RunEndParams{Outcome: string(outcome), Reason: storable(reason), Result: raw,
			Why: storable(fmt.Sprintf("%s: %s", outcome, reason)), WorkspaceID: q.ws, ID: id, Duty: id}))
}

// Reopen makes an ended run resume from its stored replies: its failed tasks are open again.
// workflowID is the ID of the next attempt.
func (q RunRepository) Reopen(ctx context.Context, r run.Run, workflowID string) error {
	n, err := q.q.RunReopen(ctx, dbsqlc.RunReopenParams{WorkflowID: workflowID, WorkspaceID: q.ws, ID: r.Ref.Run,
		Attempt: int32(r.Attempt)})
	if err == nil && n == 0 {
		return fault.New(fault.VersionConflict,
			fmt.Sprintf("run %s has not ended, or another caller has just retried it", r.Ref.Run),
			"check its status with `cairn runs show RUN`")
	}
	if err != nil {
		return classify("reopen the run", err)
	}
	if _, err := q.q.TasksReopen(ctx, dbsqlc.TasksReopenParams{WorkspaceID: q.ws, RunID: r.Ref.Run}); err != nil {
		return classify("reopen the tasks", err)
	}
	return q.transaction().Outbox().enqueueRun(ctx, r.Ref.Run, driveAfter)
}

// Progress reads the progress of a run in one small statement.
func (q RunRepository) Progress(ctx context.Context, id string) (distillation.Progress, error) {
	r, err := q.q.RunProgress(ctx, dbsqlc.RunProgressParams{WorkspaceID: q.ws, ID: id})
	if err != nil {
		return distillation.Progress{}, noRun(id, err)
	}
	out := distillation.Progress{Run: id, Status: run.Status(r.Status), Outcome: run.Outcome(r.Outcome),
		Attempt: int(r.Attempt), Tasks: make([]distillation.TaskProgress, len(r.Keys)), Calls: int(r.Calls),
		Tokens: r.Tokens}
	for i := range r.Keys {
		out.Tasks[i] = distillation.TaskProgress{Key: r.Keys[i], Name: r.Names[i],
			Stage:   distillation.Stage(r.Stages[i]),
			Outcome: distillation.Outcome(r.Outcomes[i])}
	}
	return out, nil
}

// Usage sums up a run's model calls.
func (q RunRepository) Usage(ctx context.Context, id string) (run.Usage, error) {
	u, err := q.q.RunUsage(ctx, dbsqlc.RunUsageParams{WorkspaceID: q.ws, RunID: id})
	if err != nil {
		return run.Usage{}, classify("add up the calls", err)
	}
	out := run.Usage{Keys: int(u.Keys), Attempts: int(u.Attempts), Unknown: int(u.Unknown), Input: u.InputTokens,
		Output: u.OutputTokens, Cached: u.CachedTokens, Written: u.WrittenTokens, Estimated: u.Estimated}
	if u.Priced {
		out.CostMicros = &u.CostMicros
	}
	return out, nil
}

func runOf(r dbsqlc.Run) run.Run {
	out := run.Run{Ref: run.Ref{Workspace: r.WorkspaceID, Run: r.ID}, Kind: run.Kind(r.Kind), Key: r.BusinessKey,
		Generation: int(r.Generation),
		Attempt:    int(r.Attempt), ArgsSHA: [32]byte(r.ArgsSha), Spec: r.Spec, Status: run.Status(r.Status),
		Outcome: run.Outcome(r.Outcome),
		Reason:  r.Reason, Result: r.Result, WorkflowID: r.WorkflowID, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt,
		EndedAt: r.EndedAt, Pruned: run.Pruned(r.Pruned)}
	if r.ConversationID != nil {
		out.Conversation = *r.ConversationID
	}
	return out
}

// PinModels stores the models of a run, unless it has some, and returns its configuration.
func (q CallRepository) PinModels(ctx context.Context, ref run.Ref, models map[string]string) (json.RawMessage, error) {
	raw, err := encode("the models", models)
	if err != nil {
		return nil, err
	}
	spec, err := q.q.RunPinModels(ctx, dbsqlc.RunPinModelsParams{WorkspaceID: q.ws, ID: ref.Run, Models: raw})
	return spec, noRun(ref.Run, err)
}
