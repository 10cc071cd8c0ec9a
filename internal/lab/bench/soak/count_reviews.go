package soak

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/enums/v1"

	"cairn/internal/domain/nudge"
	"cairn/internal/domain/prompt"
	"cairn/internal/lab/bench/audit"
	"cairn/internal/service/agentrun"
)

type reviewRow struct {
	Conversation   string
	Number         int
	System         string
	Status, Reason string
}

// countReviews compares the reviews with the expected ones.
func (e *experiment) countReviews(ctx context.Context) error {
	rows, _ := e.Audit.Query(ctx, e.Audit.Text("reviews"))
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[reviewRow])
	if err != nil {
		return fmt.Errorf("read the reviews: %w", err)
	}
	wanted := map[string]review{}
	for _, t := range e.talks {
		for _, r := range t.reviews {
			wanted[t.mark(r.number)] = r
		}
	}
	out := &e.result.Reviews
	out.Wanted = len(wanted)
	for _, r := range all {
		mark := (&talk{name: r.Conversation}).mark(r.Number)
		w, foreseen := wanted[mark]
		delete(wanted, mark)
		if !foreseen {
			e.found(&out.Extra, "the review after %s was not due, or ran twice", mark)
			continue
		}
		told, err := prompt.Nudge("en", w.memory, w.skill)
		if err != nil {
			return err
		}
		if r.System != told || r.Status != "ended" || r.Reason != agentrun.NudgeSaved {
			e.found(&out.Astray, "the review after %s is %s (%s), or did not look for memories %t, "+
				"skills %t", mark, r.Status, r.Reason, w.memory, w.skill)
		}
	}
	for mark := range wanted {
		e.found(&out.Missing, "the review after %s is missing", mark)
	}
	return nil
}

// countCounters compares the counters of each conversation with those computed from its turns
// and reviews.
func (e *experiment) countCounters(ctx context.Context) error {
	there := map[string]nudge.Counters{}
	rows, _ := e.Audit.Query(ctx, e.Audit.Text("counters"))
	var name string
	var raw json.RawMessage
	_, err := pgx.ForEachRow(rows, []any{&name, &raw}, func() error {
		var c nudge.Counters
		err := json.Unmarshal(raw, &c)
		there[name] = c
		return err
	})
	if err != nil {
		return fmt.Errorf("read the counters: %w", err)
	}
	for _, t := range e.talks {
		if got := there[t.name]; got != t.after {
			e.found(&e.result.Reviews.Counters, "%s has counters %+v, want %+v", t.name, got, t.after)
		}
	}
	return nil
}

// countCalls compares the ledger with the model server.
func (e *experiment) countCalls(ctx context.Context) (err error) {
	var findings []string
	e.result.Calls, findings, err = e.Audit.Calls(ctx, e.Model)
	e.result.Findings = append(e.result.Findings, findings...)
	return err
}

// countWorkflows finds workflows that are open or have failed, open runs, and outbox tasks that
// are not delivered.
func (e *experiment) countWorkflows(ctx context.Context) error {
	s := &e.result.Stuck
	all, err := audit.Workflows(ctx, e.App.Temporal, e.Stack.TemporalNamespace(), "")
	if err != nil {
		return err
	}
	s.Workflows = len(all)
	for _, w := range all {
		if audit.Lost(w, e.now) {
			continue // its activities are refused, or it waits for messages that never come
		}
		id := w.GetExecution().GetWorkflowId()
		switch w.GetStatus() {
		case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		case enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
			e.found(&s.Open, "workflow %s is open", id)
		default:
			e.found(&s.Failed, "workflow %s is %s", id, w.GetStatus())
		}
	}
	if err := e.foundMany(ctx, &s.Runs, "open_runs"); err != nil {
		return err
	}
	return e.foundMany(ctx, &s.Duties, "duties")
}
