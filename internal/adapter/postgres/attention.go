package postgres

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/domain/run"
	"cairn/internal/service/inspect"
	"cairn/internal/service/reflection"
	"cairn/internal/service/schedule"
)

// Attention is what needs a look, counted across workspaces.
type Attention = inspect.Backlog

// Waiting is how much waits, and for how long the oldest of it has.
type Waiting = inspect.Waiting

// Attention asks one statement, outside of a transaction.
func (s *Store) Attention(ctx context.Context) (Attention, error) {
	out := Attention{Runs: map[run.Kind]Waiting{run.Distill: {}, run.Turn: {}, run.Nudge: {}, run.Summarize: {}, run.Specialist: {}, run.Retrieve: {}, run.Reflection: {}, run.Build: {}, run.Train: {}, run.Evolve: {}, run.Adapt: {}, run.Probe: {}, run.Offload: {}, run.Flush: {}}, Duties: map[string]Waiting{DriveRun: {}, EmbedDoc: {}, TellSettings: {}},
		Due: map[schedule.Kind]Waiting{schedule.Reflection: {}, schedule.Curate: {}, schedule.Evolution: {}, schedule.Turn: {}}}
	rows, err := dbsqlc.New(s.system).Attention(ctx, reflection.Patience)
	if err != nil {
		return out, classify("count what needs a look", err)
	}
	for _, r := range rows {
		w := Waiting{Count: r.Rows, Oldest: time.Duration(r.OldestSeconds * float64(time.Second))}
		switch r.What {
		case "run":
			out.Runs[run.Kind(r.Kind)] = w
		case "duty":
			out.Duties[r.Kind] = w
		case "unknown call":
			out.UnknownCalls = w.Count
		case "due task":
			out.Due[schedule.Kind(r.Kind)] = w
		case "canary":
			out.Canaries = w
		case "failed day":
			out.FailedDays = w.Count
		case "unheard workspace":
			out.Unheard = w.Count
		default:
			return out, fmt.Errorf("count what needs a look: %q is nothing we know", r.What)
		}
	}
	return out, nil
}
