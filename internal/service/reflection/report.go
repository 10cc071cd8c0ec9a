package reflection

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/reflection"
	"cairn/internal/domain/run"
	"cairn/internal/store"
)

func (p PinnedReflection) report() reflection.Report {
	return reflection.Report{Date: p.Date, Zone: p.Zone, From: p.From, To: p.To, Why: p.Why,
		Conversations: len(p.Conversations),
		Messages:      p.Messages, Turns: p.Turns,
		Parts: parts(p.Spans), Skipped: p.Skipped, Left: p.Left}
}

// DayDetail is a date with its runs and notes.
type DayDetail struct {
	reflection.Day
	Runs  []DayRun       `json:"runs"` // latest first
	Notes []memory.Entry `json:"day_notes"`
}

// DayRun is one run of a date.
type DayRun struct {
	Run        string     `json:"run"`
	Generation int        `json:"generation"`
	WorkflowID string     `json:"workflow_id"`
	State      run.Status `json:"state"`            // accepted, running or ended
	Status     string     `json:"status,omitempty"` // set when it has ended
	Reason     string     `json:"reason,omitempty"` // why its loop ended
	Detail     string     `json:"detail,omitempty"`
	reflection.Report
	Steps     int        `json:"steps"`
	Usage     run.Usage  `json:"usage"`
	CreatedAt time.Time  `json:"created_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
}

const (
	firstDate, lastDate = "0001-01-01", "9999-12-31"
	runsShown           = 50
)

// List returns the dates of a range, inclusive, latest first. An empty bound is open.
func (s *Service) List(ctx context.Context, ws int64, from, to string, max int) (out []reflection.Day, err error) {
	for _, d := range []string{from, to} {
		if _, err := time.Parse(time.DateOnly, d); d != "" && err != nil {
			return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid date %q", d), "use the format 2026-03-01")
		}
	}
	if from == "" {
		from = firstDate
	}
	if to == "" {
		to = lastDate
	}
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		out, err = tx.Reflections().Days(ctx, from, to, max)
		return err
	})
	return out, err
}

// Show returns the details of one date.
func (s *Service) Show(ctx context.Context, ws int64, date string) (out DayDetail, err error) {
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return out, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid date %q", date), "use the format 2026-03-01")
	}
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		out = DayDetail{Runs: []DayRun{}}
		// Read the runs first: the row of the date includes every run that has ended.
		runs, err := tx.Reflections().Reflections(ctx, date, runsShown)
		if err != nil {
			return err
		}
		days, err := tx.Reflections().Days(ctx, date, date, 1)
		if err != nil {
			return err
		}
		if len(days) == 0 {
			return fault.New(fault.NotFound, "no reflection for "+date,
				"run `cairn reflect now --date "+date+"`")
		}
		out.Day = days[0]
		if out.Notes, err = tx.Reflections().NotesOf(ctx, date, notesShown); err != nil {
			return err
		}
		for _, r := range runs {
			one, err := reportOf(r)
			if err != nil {
				return err
			}
			if one.Usage, err = tx.Runs().Usage(ctx, r.Ref.Run); err != nil {
				return err
			}
			out.Runs = append(out.Runs, one)
		}
		return nil
	})
	return out, err
}

func reportOf(r run.Run) (out DayRun, err error) {
	out = DayRun{Run: r.Ref.Run, Generation: r.Generation, WorkflowID: r.WorkflowID, State: r.Status,
		CreatedAt: r.CreatedAt, EndedAt: r.EndedAt}
	p, err := pinnedOf(r)
	if out.Report = p.report(); err != nil || r.Status != run.Ended {
		return out, err
	}
	var e run.Result
	if err := json.Unmarshal(r.Result, &e); err != nil {
		return out, fmt.Errorf("decode the result of run %s: %w", r.Ref.Run, err)
	}
	out.Status, out.Reason, out.Detail, out.Steps = e.Status, string(e.Reason), e.Detail, e.Steps
	if len(e.Report) > 0 {
		err = json.Unmarshal(e.Report, &out.Report)
	}
	return out, err
}
