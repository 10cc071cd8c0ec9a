package reflection

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/run"
	"cairn/internal/service/agentrun"
	"cairn/internal/store"
)

// Starter starts workflows in Temporal.
type Starter interface {
	Start(ctx context.Context, workspaceKey, channel string, r run.Run) error
}

// RequestPorts are the dependencies of Requests.
type RequestPorts struct {
	Service    *Service
	Workspaces store.Workspaces
	Starter    Starter              // nil without Temporal
	Spec       func() agentrun.Spec // returns the configuration of a new reflection
	Log        *slog.Logger
}

// Requests starts reflections on demand.
type Requests struct{ RequestPorts }

// NewRequests returns a Requests.
func NewRequests(p RequestPorts) *Requests {
	return &Requests{RequestPorts: p}
}

// Open records the reflection that a workflow or a caller requests.
func (r *Requests) Open(ctx context.Context, in contract.ReflectionInput,
	workflowID string) (contract.OpenReflectionResult, error) {
	out, err := r.open(ctx, in, workflowID)
	if err != nil {
		return contract.OpenReflectionResult{}, err
	}
	opened, err := agentrun.Opened(in.Workspace, out.Run)
	return contract.OpenReflectionResult(opened), err
}

func (r *Requests) open(ctx context.Context, in contract.ReflectionInput, workflowID string) (OpenResult, error) {
	ws, err := r.Workspaces.WorkspaceByKey(ctx, in.Workspace)
	if err != nil {
		return OpenResult{}, err
	}
	return r.Service.Open(ctx, Request{Workspace: ws.ID, WorkspaceKey: ws.Key, Date: in.Date, Zone: in.Zone,
		From: in.From, To: in.To, Why: in.Why,
		Generation: in.Generation, WorkflowID: workflowID, Spec: r.Spec()})
}

// DateRequest selects a date, or the messages of today so far.
type DateRequest struct {
	Date string // local, for example 2026-03-01; empty means today
	Redo bool   // read the date again, with new model calls
}

// Now records the reflection of a local date and starts it. For today it reads the unread messages;
// for a past date it reads the messages of that date. A finished date is repeated only with Redo. A
// failed one is repeated in any case.
func (r *Requests) Now(ctx context.Context, ws access.Workspace, of DateRequest) (out OpenResult, err error) {
	in, err := r.window(ctx, ws, of.Date)
	if err != nil {
		return out, err
	}
	if in.Generation, err = r.Service.Generation(ctx, ws.ID, in.Date, of.Redo); err != nil {
		return out, err
	}
	if out, err = r.open(ctx, in, ""); err != nil || out.Ended != nil || r.Starter == nil {
		return out, err
	}
	if err := r.Starter.Start(ctx, ws.Key, "", out.Run); err != nil {
		r.Log.Warn("reflection start deferred to relay", "run", out.Run.Ref.Run, "error", err)
	}
	return out, nil
}

// window returns the time range of a local date.
func (r *Requests) window(ctx context.Context, ws access.Workspace, date string) (in contract.ReflectionInput,
	err error) {
	chosen, err := r.Workspaces.Settings(ctx, ws.ID)
	if err != nil {
		return in, err
	}
	if !chosen.Reflection {
		return in, fault.New(fault.TurnedOff, "reflection is disabled in the settings of the workspace",
			"enable it with `cairn settings set reflection=true`")
	}
	zoneName := chosen.TimeZone
	zone, err := recurrence.Zone(zoneName)
	if err != nil {
		return in, err
	}
	now := time.Now()
	today := recurrence.DateOf(now.In(zone))
	day := today
	if date != "" {
		d, err := time.Parse(time.DateOnly, date)
		if err != nil {
			return in, fault.New(
				fault.InvalidArgument,
				fmt.Sprintf("invalid date %q", date),
				"use the format 2026-03-01",
			)
		}
		day = recurrence.DateOf(d)
	}
	in = contract.ReflectionInput{Workspace: ws.Key, Date: day.String(), Zone: zoneName, From: day.Start(zone),
		To: day.AddDays(1).Start(zone), Why: contract.ReflectionOfBackfill}
	switch {
	case day == today:
		in.Why, in.To = contract.ReflectionNow, now.UTC().Truncate(time.Microsecond)
	case now.Before(in.From):
		return in, fault.New(fault.InvalidArgument, fmt.Sprintf("date %s is in the future in %s", in.Date, zoneName),
			"use today or a past date")
	case !in.From.Before(in.To):
		return in, fault.New(fault.InvalidArgument,
			fmt.Sprintf("date %[2]s does not exist in %[1]s", zoneName, in.Date), "use the previous or the next date")
	}
	return in, nil
}

// MaxReflections is the maximum number of dates in a list.
const MaxReflections = 1000

// maxBackfill is the maximum number of dates in one backfill.
const maxBackfill = 366

// Backfill reflects on each local date of a range, inclusive, for messages that were never read. It
// calls each after every recorded date; each may wait for the run.
func (r *Requests) Backfill(ctx context.Context, ws access.Workspace, from, to string, redo bool,
	each func(OpenResult) error) error {
	var days [2]recurrence.Date
	for i, text := range []string{from, to} {
		d, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid date %q", text), "use the format 2026-03-01")
		}
		days[i] = recurrence.DateOf(d)
	}
	if days[1].String() < days[0].String() || days[0].AddDays(maxBackfill-1).String() < days[1].String() {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid range from %s to %s", from, to),
			fmt.Sprintf("use an end after the start and at most %d dates", maxBackfill))
	}
	if _, err := r.window(ctx, ws, to); err != nil { // validates the range before the first model call
		return err
	}
	for d := days[0]; d.String() <= days[1].String(); d = d.AddDays(1) {
		opened, err := r.Now(ctx, ws, DateRequest{Date: d.String(), Redo: redo})
		if fault.CodeOf(err) == fault.InvalidArgument && d != days[1] { // the date does not exist in the time zone
			continue
		}
		if err == nil {
			err = each(opened)
		}
		if err != nil {
			return fmt.Errorf("reflect on %s: %w", d, err)
		}
	}
	return nil
}
