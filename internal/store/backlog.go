package store

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/outbox"
	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/reflection"
	"cairn/internal/domain/run"
	"cairn/internal/domain/scheduled"
	"cairn/internal/store/dbsqlc"
)

// duties returns all kinds of outbox tasks.
func duties() map[string]readmodel.Waiting {
	out := map[string]readmodel.Waiting{}
	for _, kind := range outbox.Kinds() {
		out[kind] = readmodel.Waiting{}
	}
	return out
}

// Backlog counts open and failed work in one statement.
func (s *Store) Backlog(ctx context.Context) (readmodel.Backlog, error) {
	out := readmodel.Backlog{Runs: map[run.Kind]readmodel.Waiting{run.Distill: {}, run.Turn: {}, run.Nudge: {},
		run.Summarize: {}, run.Specialist: {}, run.Retrieve: {}, run.Completion: {}, run.Reflection: {},
		run.Build: {}, run.Train: {},
		run.Evolve: {}, run.Adapt: {}, run.Probe: {}, run.Evaluate: {}, run.Offload: {}, run.Flush: {}},
		Duties: duties(), Stuck: duties(),
		Due: map[scheduled.Kind]readmodel.Waiting{scheduled.Reflection: {}, scheduled.Curate: {},
			scheduled.Evolution: {},
			scheduled.Turn:      {}}}
	var rows []dbsqlc.AttentionRow
	err := s.WithSystem(ctx, func(q *dbsqlc.Queries) (err error) {
		rows, err = q.Attention(ctx, dbsqlc.AttentionParams{Patience: reflection.Patience,
			StuckFailures: outbox.StuckFailures, StuckAge: outbox.StuckAge})
		return err
	})
	if err != nil {
		return out, classify("count the backlog", err)
	}
	for _, r := range rows {
		w := readmodel.Waiting{Count: r.Rows, Oldest: time.Duration(r.OldestSeconds * float64(time.Second))}
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
			out.Due[scheduled.Kind(r.Kind)] = w
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
