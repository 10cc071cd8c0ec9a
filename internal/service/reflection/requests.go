package reflection

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/tenancy"
	"cairn/internal/service/agentrun"
)

// Workspaces tell what reflections of a workspace go by.
type Workspaces interface {
	WorkspaceByKey(ctx context.Context, key string) (tenancy.Workspace, error)
	Settings(ctx context.Context, ws int64) (settings.Settings, error)
}

// Starter brings runs to Temporal.
type Starter interface {
	Start(ctx context.Context, workspaceKey, channel string, r run.Run) error
}

// RequestPorts are what the requests works with.
type RequestPorts struct {
	Service    *Service
	Workspaces Workspaces
	Starter    Starter              // nil without Temporal
	Spec       func() agentrun.Spec // that a new reflection is pinned to
	Log        *slog.Logger
}

// Requests are reflections that somebody asks for.
type Requests struct{ RequestPorts }

// NewRequests makes the requests. A required port that is nil is an error.
func NewRequests(p RequestPorts) (*Requests, error) {
	err := ports.Require("reflection requests",
		map[string]any{"Service": p.Service, "Workspaces": p.Workspaces, "Spec": p.Spec, "Log": p.Log})
	if err != nil {
		return nil, err
	}
	return &Requests{RequestPorts: p}, nil
}

// Open records the reflection that a workflow or a caller asks for.
func (r *Requests) Open(ctx context.Context, in contract.ReflectionInput, workflowID string) (OpenResult, error) {
	ws, err := r.Workspaces.WorkspaceByKey(ctx, in.Workspace)
	if err != nil {
		return OpenResult{}, err
	}
	return r.Service.Open(ctx, Request{Workspace: ws.ID, WorkspaceKey: ws.Key, Date: in.Date, Zone: in.Zone,
		From: in.From, To: in.To, Why: in.Why,
		Generation: in.Generation, WorkflowID: workflowID, Spec: r.Spec()})
}

// DateRequest asks for a date, or for what was said so far.
type DateRequest struct {
	Date string // local, as 2026-03-01; empty is today
	Redo bool   // read it again although it was, and pay again
}

// Now records the reflection of a local date of the workspace and has it
// started. Of today it reads what is unread so far, of a date that is over what
// was said on it. A date that is done stays as it is unless a redo is asked for;
// one that failed is done again.
func (r *Requests) Now(ctx context.Context, ws tenancy.Workspace, of DateRequest) (out OpenResult, err error) {
	in, err := r.window(ctx, ws, of.Date)
	if err != nil {
		return out, err
	}
	if in.Generation, err = r.Service.Generation(ctx, ws.ID, in.Date, of.Redo); err != nil {
		return out, err
	}
	if out, err = r.Open(ctx, in, ""); err != nil || out.Ended != nil || r.Starter == nil {
		return out, err
	}
	if err := r.Starter.Start(ctx, ws.Key, "", out.Run); err != nil {
		r.Log.Warn("a reflection is stored and not started yet; the relay will start it", "run", out.Run.Ref.Run,
			"error", err)
	}
	return out, nil
}

// window is what belongs to a local date.
func (r *Requests) window(ctx context.Context, ws tenancy.Workspace, date string) (in contract.ReflectionInput,
	err error) {
	chosen, err := r.Workspaces.Settings(ctx, ws.ID)
	if err != nil {
		return in, err
	}
	if !chosen.Reflection {
		return in, fault.New(fault.TurnedOff, "the workspace has turned reflection off in its settings",
			"turn it on first: cairn settings set reflection=true")
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
			return in, fault.New(fault.InvalidArgument, fmt.Sprintf("%q is no date", date), "write it as 2026-03-01")
		}
		day = recurrence.DateOf(d)
	}
	in = contract.ReflectionInput{Workspace: ws.Key, Date: day.String(), Zone: zoneName, From: day.Start(zone),
		To: day.AddDays(1).Start(zone), Why: contract.ReflectionOfBackfill}
	switch {
	case day == today:
		in.Why, in.To = contract.ReflectionNow, now.UTC().Truncate(time.Microsecond)
	case now.Before(in.From):
		return in, fault.New(fault.InvalidArgument, fmt.Sprintf("%s has not come yet in %s", in.Date, zoneName),
			"use today or a date before it")
	case !in.From.Before(in.To):
		return in, fault.New(fault.InvalidArgument,
			fmt.Sprintf("%s has no %s: the clock went over it", zoneName, in.Date), "use the date before or after it")
	}
	return in, nil
}

// MaxReflections is how many dates a list has at most.
const MaxReflections = 1000

// maxBackfill is how many dates are asked for at once.
const maxBackfill = 366

// Backfill has each local date from one to another, both included, looked
// back on for what was said on it and never read. Each is called after a date was
// recorded, and may wait for it.
func (r *Requests) Backfill(ctx context.Context, ws tenancy.Workspace, from, to string, redo bool,
	each func(OpenResult) error) error {
	var days [2]recurrence.Date
	for i, text := range []string{from, to} {
		d, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("%q is no date", text), "write it as 2026-03-01")
		}
		days[i] = recurrence.DateOf(d)
	}
	if days[1].String() < days[0].String() || days[0].AddDays(maxBackfill-1).String() < days[1].String() {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("from %s to %s are no dates to go through", from, to),
			fmt.Sprintf("the last comes after the first, and at most %d are taken at once", maxBackfill))
	}
	if _, err := r.window(ctx, ws, to); err != nil { // before the first is paid for
		return err
	}
	for d := days[0]; d.String() <= days[1].String(); d = d.AddDays(1) {
		opened, err := r.Now(ctx, ws, DateRequest{Date: d.String(), Redo: redo})
		if fault.CodeOf(err) == fault.InvalidArgument && d != days[1] { // a date that the zone leaves out
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
