package store

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/run"
	"cairn/internal/service/inspect"
	"cairn/internal/service/reflection"
	"cairn/internal/service/relay"
	"cairn/internal/service/schedule"
	"cairn/internal/store/dbsqlc"
)

// duties returns all kinds of outbox tasks.
func duties() map[string]inspect.Waiting {
	out := map[string]inspect.Waiting{}
	for _, kind := range relay.Kinds() {
		out[kind] = inspect.Waiting{}
	}
	return out
}

// Backlog counts open and failed work in one statement.
func (s *Store) Backlog(ctx context.Context) (inspect.Backlog, error) {
	out := inspect.Backlog{Runs: map[run.Kind]inspect.Waiting{run.Distill: {}, run.Turn: {}, run.Nudge: {},
		run.Summarize: {}, run.Specialist: {}, run.Retrieve: {}, run.Completion: {}, run.Reflection: {},
		run.Build: {}, run.Train: {},
		run.Evolve: {}, run.Adapt: {}, run.Probe: {}, run.Evaluate: {}, run.Offload: {}, run.Flush: {}},
		Duties: duties(), Stuck: duties(),
		Due: map[schedule.Kind]inspect.Waiting{schedule.Reflection: {}, schedule.Curate: {}, schedule.Evolution: {},
			schedule.Turn: {}}}
	var rows []dbsqlc.AttentionRow
	err := s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		rows, err = q.Attention(ctx, dbsqlc.AttentionParams{Patience: reflection.Patience,
			StuckFailures: relay.StuckFailures, StuckAge: relay.StuckAge})
		return err
	})
	if err != nil {
		return out, classify("count the backlog", err)
	}
	for _, r := range rows {
		w := inspect.Waiting{Count: r.Rows, Oldest: time.Duration(r.OldestSeconds * float64(time.Second))}
		switch r.What {
		case "run":
			out.Runs[run.Kind(r.Kind)] = w
		case "duty":
			out.Duties[r.Kind] = w
		case "stuck duty":
			out.Stuck[r.Kind] = w
		case "lost commit":
			out.LostCommits = w.Count
		case "unknown call":
			out.UnknownCalls = w.Count
		case "due task":
			out.Due[schedule.Kind(r.Kind)] = w
		case "canary":
			out.Canaries = w
		case "failed day":
			out.FailedDays = w.Count
		case "empty week":
			out.EmptyWeek = w.Count
		default:
			return out, fmt.Errorf("count the backlog: unknown kind %q", r.What)
		}
	}
	return out, nil
}
