package schedule

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/ports"
	"cairn/internal/domain/recurrence"
)

// Tx are a workspace's tasks inside one transaction.
type Tx interface {
	ScheduledTasks(ctx context.Context, name string) ([]Task, error) // all without a name
	PutTask(ctx context.Context, d Draft, next Firing) (bool, error)
	PauseTask(ctx context.Context, id int64) error
	ResumeTask(ctx context.Context, id int64, next Firing) error
	RemoveTask(ctx context.Context, id int64) error
	Clock(ctx context.Context) (now time.Time, zone string, err error) // the database's time, the workspace's zone
	ReflectedTo(ctx context.Context) (time.Time, error)                // watermark of the reflection; zero without one
}

// Store opens transactions.
type Store interface {
	WithSchedules(ctx context.Context, ws int64, fn func(context.Context, Tx) error) error
}

// Ports are what the service works with.
type Ports struct {
	Store   Store
	Starter Starter
	Planner Planner // the sweep's: it says when what is due is started
}

// Service is what people and programs do with a workspace's tasks.
type Service struct{ Ports }

// New makes the service. A required port that is nil is an error.
func New(p Ports) (*Service, error) {
	err := ports.Require("schedule", map[string]any{"Store": p.Store, "Starter": p.Starter})
	if err != nil {
		return nil, err
	}
	return &Service{Ports: p}, nil
}

// List has the built-in tasks first.
func (s *Service) List(ctx context.Context, ws int64) (out []Task, err error) {
	err = s.Store.WithSchedules(ctx, ws, func(ctx context.Context, tx Tx) (err error) {
		out, err = tx.ScheduledTasks(ctx, "")
		return err
	})
	for i := range out {
		if err := s.Planner.tell(&out[i]); err != nil {
			return nil, err
		}
	}
	return out, err
}

// Get reads one task.
func (s *Service) Get(ctx context.Context, ws int64, name string) (t Task, err error) {
	err = s.Store.WithSchedules(ctx, ws, func(ctx context.Context, tx Tx) (err error) {
		t, err = s.find(ctx, tx, name)
		return err
	})
	return t, err
}

func (s *Service) find(ctx context.Context, tx Tx, name string) (Task, error) {
	if name == "" {
		return Task{}, fault.New(fault.InvalidArgument, "the task's name is empty",
			"`cairn schedule list` shows the names")
	}
	found, err := tx.ScheduledTasks(ctx, name)
	if err == nil && len(found) == 0 {
		err = fault.New(fault.NotFound, fmt.Sprintf("there is no scheduled task %q", name),
			"`cairn schedule list` shows the names")
	}
	if err != nil {
		return Task{}, err
	}
	return found[0], s.Planner.tell(&found[0])
}

// wanted refuses to fire what the workspace has turned off.
func (t Task) wanted() error {
	if t.Off {
		return fault.New(fault.TurnedOff, fmt.Sprintf("%s is turned off in the workspace's settings", t.Name),
			"turn it on first: cairn settings set reflection=true")
	}
	return nil
}

// Add makes a task whose prompt is answered each time that it is due.
func (s *Service) Add(ctx context.Context, ws int64, d Draft) (t Task, err error) {
	if d, err = d.settle(); err != nil {
		return t, err
	}
	err = s.Store.WithSchedules(ctx, ws, func(ctx context.Context, tx Tx) error {
		now, zone, err := tx.Clock(ctx)
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
		known, err := tx.ScheduledTasks(ctx, "")
		if err != nil {
			return err
		}
		if len(known) >= mostTasks {
			return fault.New(fault.QuotaExceeded,
				fmt.Sprintf("the workspace has %d scheduled tasks, and may have no more", len(known)),
				"remove one of them first: cairn schedule remove")
		}
		made, err := tx.PutTask(ctx, d, NextAfter(c, now))
		if err != nil {
			return err
		}
		if !made {
			return fault.New(fault.AlreadyExists, fmt.Sprintf("there is a scheduled task %q", d.Name),
				"choose another name, or remove that one first")
		}
		t, err = s.find(ctx, tx, d.Name)
		return err
	})
	return t, err
}

// Pause keeps a task from coming due.
func (s *Service) Pause(ctx context.Context, ws int64, name string) (Task, error) {
	return s.change(ctx, ws, name, func(tx Tx, t Task) error { return tx.PauseTask(ctx, t.ID) })
}

// Resume lets a task come due again. What it missed is not made up for.
func (s *Service) Resume(ctx context.Context, ws int64, name string) (Task, error) {
	return s.change(ctx, ws, name, func(tx Tx, t Task) error {
		if t.PausedAt == nil {
			return nil
		}
		c, err := t.Cadence()
		if err != nil {
			return err
		}
		return tx.ResumeTask(ctx, t.ID, NextAfter(c, t.Now))
	})
}

func (s *Service) change(ctx context.Context, ws int64, name string, do func(Tx, Task) error) (t Task, err error) {
	err = s.Store.WithSchedules(ctx, ws, func(ctx context.Context, tx Tx) error {
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

// Remove deletes a task. What it has started goes on; its conversation stays.
func (s *Service) Remove(ctx context.Context, ws int64, name string) error {
	return s.Store.WithSchedules(ctx, ws, func(ctx context.Context, tx Tx) error {
		t, err := s.find(ctx, tx, name)
		if err != nil {
			return err
		}
		if t.Kind != Turn {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("%s is built in and cannot be removed", name),
				"pause it: cairn schedule pause "+name)
		}
		return tx.RemoveTask(ctx, t.ID)
	})
}

// Trigger fires a task now, beside its cadence, paused or not, in quiet hours or not. The id names the
// request: sent again it is the same firing. Empty makes one up.
func (s *Service) Trigger(ctx context.Context, ws int64, workspaceKey, name, id string) (f FiringRecord, err error) {
	var t Task
	var reflected time.Time
	err = s.Store.WithSchedules(ctx, ws, func(ctx context.Context, tx Tx) (err error) {
		if t, err = s.find(ctx, tx, name); err == nil {
			err = t.wanted()
		}
		if err != nil {
			return err
		}
		reflected, err = tx.ReflectedTo(ctx)
		return err
	})
	if err != nil {
		return f, err
	}
	zone, err := recurrence.Zone(t.Zone)
	if err != nil {
		return f, err
	}
	slot := ClaimedFiring{Workspace: ws, WorkspaceKey: workspaceKey, Task: t.ID, Kind: t.Kind, Zone: t.Zone,
		ReflectedTo: reflected, Why: contract.ReflectionNow,
		Firing: Firing{At: t.Now, Date: recurrence.DateOf(t.Now.In(zone)).String(),
			Key: "now-" + t.Now.UTC().Format("20060102T150405.000000")}}
	switch {
	case t.Kind == Reflection:
		slot.Key = slot.Date
	case id != "":
		slot.Key = "now-" + id
	}
	return s.fire(ctx, slot)
}

func (s *Service) fire(ctx context.Context, slot ClaimedFiring) (FiringRecord, error) {
	outcome, reason, err := s.Starter.StartSlot(ctx, slot)
	return FiringRecord{At: slot.At, Date: slot.Date, Key: slot.Key, Outcome: outcome, Reason: reason}, err
}

// mostBackfill bounds the firings of one backfill.
const mostBackfill = 100

// Backfill fires a task for each time that it was due in the past, from the first
// local date to the last, both included. A firing that was there before is the
// same one.
func (s *Service) Backfill(ctx context.Context, ws int64, workspaceKey, name string, from,
	until recurrence.Date) (out []FiringRecord, err error) {
	t, err := s.Get(ctx, ws, name)
	if err == nil {
		err = t.wanted()
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
			"give the earlier date first")
	}
	if end.After(t.Now) {
		end = t.Now
	}
	firings := c.Preview(start, end, mostBackfill+1)
	if len(firings) > mostBackfill {
		return nil, fault.New(fault.TooLarge,
			fmt.Sprintf("the task was due more than %d times from %s to %s", mostBackfill, from, until),
			"give fewer dates at once; a task that is due more often than that on one date cannot be made up for")
	}
	before := start
	for _, f := range firings {
		slot := ClaimedFiring{Workspace: ws, WorkspaceKey: workspaceKey, Task: t.ID, Kind: t.Kind, Zone: t.Zone,
			ReflectedTo: before, Why: contract.ReflectionOfBackfill,
			Firing: Firing{At: f.At, Date: f.LocalDate.String(), Key: c.Key(f.At, f.LocalDate)}}
		fired, err := s.fire(ctx, slot)
		if err != nil {
			return out, err
		}
		out, before = append(out, fired), f.At
	}
	return out, nil
}
