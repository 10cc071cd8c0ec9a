package store

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/scheduled"
	"cairn/internal/store/dbsqlc"
)

// ScheduledTasks lists the workspace's scheduled tasks, or only the one with a name.
func (q ScheduleRepository) ScheduledTasks(ctx context.Context, name string) ([]scheduled.Task, error) {
	return q.queryTasks(ctx, name, 0)
}

// ScheduledTask finds a scheduled task. It returns false if the task was removed.
func (q ScheduleRepository) ScheduledTask(ctx context.Context, id int64) (scheduled.Task, bool, error) {
	found, err := q.queryTasks(ctx, "", id)
	if err != nil || len(found) == 0 {
		return scheduled.Task{}, false, err
	}
	return found[0], true, nil
}

func (q ScheduleRepository) queryTasks(ctx context.Context, name string, id int64) ([]scheduled.Task, error) {
	rows, err := q.q.SchedulesList(ctx, dbsqlc.SchedulesListParams{WorkspaceID: q.ws, Name: storable(name), ID: id})
	out := make([]scheduled.Task, len(rows))
	for i, r := range rows {
		out[i] = scheduled.Task{ID: r.ID, Name: r.Name, Kind: scheduled.Kind(r.Kind), Cron: r.Cron, Zone: r.Zone,
			Zoned: r.Zoned, Prompt: r.Prompt, Channel: r.Channel,
			MaxTurns: int(r.MaxTurns), CatchUp: time.Duration(r.CatchUpSeconds * float64(time.Second)),
			Overlap: r.Overlap, To: r.DeliverTo, PausedAt: r.PausedAt,
			DueAt: r.DueAt, DueDate: r.DueDate, StartsAt: r.StartAt, Off: !r.Wanted, WorkspaceKey: r.WorkspaceKey,
			Quiet: scheduled.QuietHours{From: r.QuietFrom, To: r.QuietTo, Zone: r.HomeZone}, Created: r.CreatedAt,
			Now: r.At}
		if r.SlotAt != nil {
			out[i].Last = &scheduled.FiringRecord{At: *r.SlotAt, Date: r.SlotDate, Key: r.SlotKey,
				Outcome: r.SlotOutcome, Reason: r.SlotReason}
		}
	}
	return out, classify("list the scheduled tasks", err)
}

// PutTask creates a task. It returns false if its name is taken.
func (q ScheduleRepository) PutTask(ctx context.Context, d scheduled.Draft, next scheduled.Firing) (bool, error) {
	if err := q.knownChat(ctx, d.To); err != nil {
		return false, err
	}
	_, err := q.q.SchedulePut(ctx, dbsqlc.SchedulePutParams{WorkspaceID: q.ws, Name: d.Name, Cron: &d.Cron,
		TimeZone: orNil(d.Zone), Prompt: storable(d.Prompt), Channel: d.Channel,
		MaxTurns: int32(d.MaxTurns), CatchUp: d.CatchUp, Overlap: d.Overlap,
		DeliverTo: storable(d.To), DueAt: &next.At, DueDate: next.Date,
		DueKey: &next.Key})
	if isNoRows(err) {
		return false, nil
	}
	return err == nil, classify("record the scheduled task", err)
}

// knownChat returns NotFound for a chat that has never written. No chat is the home chat.
func (q ScheduleRepository) knownChat(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	known, err := q.q.RouteNamed(ctx, dbsqlc.RouteNamedParams{WorkspaceID: q.ws, Name: storable(name)})
	if err != nil {
		return classify("find the chat", err)
	}
	if !known {
		return fault.New(fault.NotFound, fmt.Sprintf("chat %.100q not found", name),
			"name a chat that has written to the bot, as account/chat; the chats are in `cairn deliveries list`")
	}
	return nil
}

// ChangeTask changes a task that is not built in.
func (q ScheduleRepository) ChangeTask(ctx context.Context, id int64, d scheduled.Draft, next scheduled.Firing) error {
	if err := q.knownChat(ctx, d.To); err != nil {
		return err
	}
	n, err := q.q.ScheduleChange(ctx, dbsqlc.ScheduleChangeParams{WorkspaceID: q.ws, ID: id, Cron: &d.Cron,
		TimeZone: orNil(d.Zone), Prompt: storable(d.Prompt), Channel: d.Channel, MaxTurns: int32(d.MaxTurns),
		CatchUp: d.CatchUp, Overlap: d.Overlap, DeliverTo: storable(d.To), DueAt: &next.At, DueDate: next.Date,
		DueKey: &next.Key})
	return oneRow("change the scheduled task", n, err)
}

// PauseTask pauses a task.
func (q ScheduleRepository) PauseTask(ctx context.Context, id int64) error {
	n, err := q.q.SchedulePause(ctx, dbsqlc.SchedulePauseParams{WorkspaceID: q.ws, ID: id})
	return oneRow("pause the scheduled task", n, err)
}

// ResumeTask resumes a task.
func (q ScheduleRepository) ResumeTask(ctx context.Context, id int64, next scheduled.Firing) error {
	n, err := q.q.ScheduleResume(ctx, dbsqlc.ScheduleResumeParams{WorkspaceID: q.ws, ID: id, DueAt: &next.At,
		DueDate: next.Date, DueKey: &next.Key})
	return oneRow("resume the scheduled task", n, err)
}

// RemoveTask deletes a task that is not built in.
func (q ScheduleRepository) RemoveTask(ctx context.Context, id int64) error {
	n, err := q.q.ScheduleRemove(ctx, dbsqlc.ScheduleRemoveParams{WorkspaceID: q.ws, ID: id})
	return oneRow("remove the scheduled task", n, err)
}

// Clock returns the database's time and the workspace's time zone.
func (q WorkspaceRepository) Clock(ctx context.Context) (time.Time, string, error) {
	now, err := q.q.DatabaseTime(ctx)
	if err != nil {
		return now, "", classify("read the clock", err)
	}
	row, err := q.q.WorkspaceSettings(ctx, q.ws)
	return now, row.TimeZone, classify("read the time zone", err)
}

// ReflectedTo returns the time up to which the workspace's days have been reflected on.
func (q ScheduleRepository) ReflectedTo(ctx context.Context) (time.Time, error) {
	at, err := q.q.ReflectedTo(ctx, q.ws)
	if isNoRows(err) {
		return time.Time{}, nil
	}
	return at, classify("read the watermark", err)
}

// OpenTurn reports whether a conversation has a turn without a reply, except the turn of one
// message.
func (q ScheduleRepository) OpenTurn(ctx context.Context, conversation, message string) (bool, error) {
	open, err := q.q.ScheduleOpenTurn(ctx,
		dbsqlc.ScheduleOpenTurnParams{WorkspaceID: q.ws, Conversation: storable(conversation),
			MessageID: storable(message)})
	return open, classify("find an open turn", err)
}

// replan recomputes the next firing of the tasks that follow the workspace's clock: all of them if
// the time zone has changed, else only the reflection.
func (q ScheduleRepository) replan(ctx context.Context, all bool) error {
	tasks, err := q.ScheduledTasks(ctx, "")
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if t.Zoned || !all && t.Kind != scheduled.Reflection {
			continue
		}
		c, err := recurrence.Parse(t.Cron, t.Zone)
		if err != nil {
			return err
		}
		next := scheduled.NextAfter(c, t.Now)
		n, err := q.q.SchedulePlan(ctx, dbsqlc.SchedulePlanParams{WorkspaceID: q.ws, ID: t.ID, DueAt: &next.At,
			DueDate: next.Date, DueKey: &next.Key})
		if err := oneRow("plan a scheduled task", n, err); err != nil {
			return err
		}
	}
	return nil
}
