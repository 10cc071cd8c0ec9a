package schedule

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/scheduled"
	"cairn/internal/store"
)

// Ports are the dependencies of the service.
type Ports struct {
	Store   *store.Store
	Starter Starter
	Planner Planner // same as the sweep's, to compute start times
}

// Service manages the tasks of workspaces.
type Service struct{ Ports }

// New returns a Service.
func New(p Ports) *Service {
	return &Service{Ports: p}
}

// List returns the tasks, built-in ones first.
func (s *Service) List(ctx context.Context, ws int64) (out []scheduled.Task, err error) {
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) (err error) {
		out, err = tx.Schedules().ScheduledTasks(ctx, "")
		return err
	})
	for i := range out {
		if err := s.Planner.tell(&out[i]); err != nil {
			return nil, err
		}
	}
	return out, err
}

// Get returns one task.
func (s *Service) Get(ctx context.Context, ws int64, name string) (t scheduled.Task, err error) {
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) (err error) {
		t, err = s.find(ctx, tx, name)
		return err
	})
	return t, err
}

func (s *Service) find(ctx context.Context, tx store.Tx, name string) (scheduled.Task, error) {
	if name == "" {
		return scheduled.Task{}, fault.New(fault.InvalidArgument, "missing task name",
			"list the names with `cairn schedule list`")
	}
	found, err := tx.Schedules().ScheduledTasks(ctx, name)
	if err == nil && len(found) == 0 {
		err = fault.New(fault.NotFound, fmt.Sprintf("scheduled task %q not found", name),
			"list the names with `cairn schedule list`")
	}
	if err != nil {
		return scheduled.Task{}, err
	}
	return found[0], s.Planner.tell(&found[0])
}

// Add creates a task that sends a prompt.
func (s *Service) Add(ctx context.Context, ws int64, d scheduled.Draft) (t scheduled.Task, err error) {
	if d, err = d.Settle(); err != nil {
		return t, err
	}
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		now, zone, err := tx.Workspaces().Clock(ctx)
		if err != nil {
			return err
		}
		if d.Zone != "" {
			zone = d.Zone
		}
		c, err := recurrence.Parse(d.Cron, zone)
		if err != nil {
			return err
		}
		d.Cron = c.String()
		known, err := tx.Schedules().ScheduledTasks(ctx, "")
		if err != nil {
			return err
		}
		if len(known) >= maxTasks {
			return fault.New(fault.QuotaExceeded,
				fmt.Sprintf("workspace already has %d scheduled tasks, the maximum", len(known)),
				"remove a task with `cairn schedule remove TASK`")
		}
		made, err := tx.Schedules().PutTask(ctx, d, scheduled.NextAfter(c, now))
		if err != nil {
			return err
		}
		if !made {
			return fault.New(fault.AlreadyExists, fmt.Sprintf("scheduled task %q already exists", d.Name),
				"choose another name, or remove the existing task first")
		}
		t, err = s.find(ctx, tx, d.Name)
		return err
	})
	return t, err
}

// Pause pauses a task.
func (s *Service) Pause(ctx context.Context, ws int64, name string) (scheduled.Task, error) {
	return s.change(ctx, ws, name, func(tx store.Tx, t scheduled.Task) error {
		return tx.Schedules().PauseTask(ctx, t.ID)
	})
}

// Resume resumes a task. Missed firings are not started.
func (s *Service) Resume(ctx context.Context, ws int64, name string) (scheduled.Task, error) {
	return s.change(ctx, ws, name, func(tx store.Tx, t scheduled.Task) error {
		if t.PausedAt == nil {
			return nil
		}
		c, err := t.Cadence()
		if err != nil {
			return err
		}
		return tx.Schedules().ResumeTask(ctx, t.ID, scheduled.NextAfter(c, t.Now))
	})
}

func (s *Service) change(ctx context.Context, ws int64, name string,
	do func(store.Tx, scheduled.Task) error) (t scheduled.Task, err error) {
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if t, err = s.find(ctx, tx, name); err != nil {
			return err
		}
		if err := do(tx, t); err != nil {
			return err
		}
		t, err = s.find(ctx, tx, name)
		return err
	})
	return t, err
}

// Remove deletes a task. Work that it has started continues, and its conversation is kept.
func (s *Service) Remove(ctx context.Context, ws int64, name string) error {
	return s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		t, err := s.find(ctx, tx, name)
		if err != nil {
			return err
		}
		if t.Kind != scheduled.Turn {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("%s is built in and cannot be removed", name),
				"pause it with `cairn schedule pause "+name+"`")
		}
		return tx.Schedules().RemoveTask(ctx, t.ID)
	})
}

// Trigger fires a task now, regardless of its schedule, pause or quiet hours. The same id is the
// same firing. If id is empty, Trigger creates one.
func (s *Service) Trigger(ctx context.Context, ws int64, workspaceKey, name, id string) (f scheduled.FiringRecord,
	err error) {
	var t scheduled.Task
	var reflected time.Time
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) (err error) {
		if t, err = s.find(ctx, tx, name); err == nil {
			err = t.Wanted()
		}
		if err != nil {
			return err
		}
		reflected, err = tx.Schedules().ReflectedTo(ctx)
		return err
	})
	if err != nil {
		return f, err
	}
	zone, err := recurrence.Zone(t.Zone)
	if err != nil {
		return f, err
	}
	slot := scheduled.ClaimedFiring{Workspace: ws, WorkspaceKey: workspaceKey, Task: t.ID, Kind: t.Kind, Zone: t.Zone,
		ReflectedTo: reflected, Why: contract.ReflectionNow,
		Firing: scheduled.Firing{At: t.Now, Date: recurrence.DateOf(t.Now.In(zone)).String(),
			Key: "now-" + t.Now.UTC().Format("20060102T150405.000000")}}
	switch {
	case t.Kind == scheduled.Reflection:
		slot.Key = slot.Date
	case id != "":
		slot.Key = "now-" + id
	}
	return s.fire(ctx, slot)
}

func (s *Service) fire(ctx context.Context, slot scheduled.ClaimedFiring) (scheduled.FiringRecord, error) {
	outcome, reason, err := s.Starter.StartSlot(ctx, slot)
	return scheduled.FiringRecord{At: slot.At, Date: slot.Date, Key: slot.Key, Outcome: outcome, Reason: reason}, err
}

// maxBackfill is the maximum number of firings of one backfill.
const maxBackfill = 100

// Backfill fires a task for each scheduled time in a range of local dates, inclusive. Firings that
// already exist are returned unchanged.
func (s *Service) Backfill(ctx context.Context, ws int64, workspaceKey, name string, from,
	until recurrence.Date) (out []scheduled.FiringRecord, err error) {
	t, err := s.Get(ctx, ws, name)
	if err == nil {
		err = t.Wanted()
	}
	if err != nil {
		return nil, err
	}
	c, err := t.Cadence()
	if err != nil {
		return nil, err
	}
	zone, err := recurrence.Zone(t.Zone)
	if err != nil {
		return nil, err
	}
	start, end := from.Start(zone), until.AddDays(1).Start(zone)
	if !start.Before(end) {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("%s is after %s", from, until),
			"set the earlier date first")
	}
	if end.After(t.Now) {
		end = t.Now
	}
	firings := c.Preview(start, end, maxBackfill+1)
	if len(firings) > maxBackfill {
		return nil, fault.New(fault.TooLarge,
			fmt.Sprintf("task has more than %d firings from %s to %s", maxBackfill, from, until),
			"use a shorter range")
	}
	before := start
	for _, f := range firings {
		slot := scheduled.ClaimedFiring{Workspace: ws, WorkspaceKey: workspaceKey, Task: t.ID, Kind: t.Kind,
			Zone:        t.Zone,
			ReflectedTo: before, Why: contract.ReflectionOfBackfill,
			Firing: scheduled.Firing{At: f.At, Date: f.LocalDate.String(), Key: c.Key(f.At, f.LocalDate)}}
		fired, err := s.fire(ctx, slot)
		if err != nil {
			return out, err
		}
		out, before = append(out, fired), f.At
	}
	return out, nil
}
