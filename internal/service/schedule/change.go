package schedule

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/scheduled"
	"cairn/internal/store"
)

// Change changes a scheduled prompt. Nil fields stay.
type Change struct {
	Cron, Zone, Prompt, Channel, Overlap, To *string
	MaxTurns                                 *int
	CatchUp                                  *time.Duration
}

// Change changes a task that sends a prompt. Its conversation stays. A firing key belongs to one firing only: if the
// task has fired today and fires once a day, the next firing is tomorrow.
func (s *Service) Change(ctx context.Context, ws int64, name string, change Change) (t scheduled.Task, err error) {
	err = s.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		if t, err = s.find(ctx, tx, name); err != nil {
			return err
		}
		if t.Kind != scheduled.Turn {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("%s is built in and cannot be changed", name),
				"change the settings time_zone, reflection_cron and quiet_hours of the workspace")
		}
		d, err := change.on(t).Settle()
		if err != nil {
			return err
		}
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
		next := scheduled.NextAfter(c, now)
		if t.Last != nil && next.Key == t.Last.Key {
			next = scheduled.NextAfter(c, next.At)
		}
		if err := tx.Schedules().ChangeTask(ctx, t.ID, d, next); err != nil {
			return err
		}
		t, err = s.find(ctx, tx, name)
		return err
	})
	return t, err
}

// on returns the task with the change.
func (c Change) on(t scheduled.Task) scheduled.Draft {
	d := scheduled.Draft{Name: t.Name, Cron: t.Cron, Prompt: t.Prompt, Channel: t.Channel, MaxTurns: t.MaxTurns,
		CatchUp: t.CatchUp, Overlap: t.Overlap, To: t.To}
	if t.Zoned {
		d.Zone = t.Zone
	}
	for to, from := range map[*string]*string{&d.Cron: c.Cron, &d.Zone: c.Zone, &d.Prompt: c.Prompt,
		&d.Channel: c.Channel, &d.Overlap: c.Overlap, &d.To: c.To} {
		if from != nil {
			*to = *from
		}
	}
	if c.MaxTurns != nil {
		d.MaxTurns = *c.MaxTurns
	}
	if c.CatchUp != nil {
		d.CatchUp = *c.CatchUp
	}
	return d
}

// maxPreview is the number of firings of a preview, and previewDays the days that it looks ahead.
const (
	maxPreview  = 100
	previewDays = 3660
)

// Preview returns the next firings of a task, at most most of them, with the effects of clock changes. A cron
// expression or a time zone that is not empty replaces that of the task.
func (s *Service) Preview(ctx context.Context, ws int64, name, cron, zone string, most int) ([]recurrence.Firing,
	error) {
	if most < 1 || most > maxPreview {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("invalid number of firings %d", most),
			fmt.Sprintf("use 1 to %d", maxPreview))
	}
	t, err := s.Get(ctx, ws, name)
	if err != nil {
		return nil, err
	}
	if cron != "" {
		t.Cron = cron
	}
	if zone != "" {
		t.Zone = zone
	}
	c, err := t.Cadence()
	if err != nil {
		return nil, err
	}
	return c.Preview(t.Now, t.Now.AddDate(0, 0, previewDays), most), nil
}
