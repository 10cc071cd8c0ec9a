package httpapi

import (
	"context"
	"net/http"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/scheduled"
	"cairn/internal/service/schedule"
)

const tagSchedules = "schedules"

type (
	// ScheduledTask is a task with its due times.
	ScheduledTask scheduled.Task
	// Firing is one due time of a task.
	Firing scheduled.FiringRecord
)

// ScheduleList holds the workspace's scheduled tasks, the built-in ones first.
type ScheduleList struct {
	Schedules []ScheduledTask `json:"schedules"`
}

// NewSchedule is a prompt that is sent at each due time.
type NewSchedule struct {
	Name     string `json:"name" maxLength:"64" doc:"Lower-case words joined by hyphens"`
	Cron     string `json:"cron" maxLength:"200" doc:"Cron expression (minute, hour, day of month, month, day of week), or @daily, @every 2h and similar"`
	Prompt   string `json:"prompt" doc:"Instructions for each firing"`
	TimeZone string `json:"time_zone,omitempty" doc:"IANA time zone; default: the workspace's"`
	Channel  string `json:"channel,omitempty" enum:"voice,sms,chat,scheduled" doc:"Channel, which sets the budget of model calls; scheduled allows 15"`
	MaxTurns int    `json:"max_turns,omitempty" minimum:"0" maximum:"50" doc:"Maximum number of model calls; 0 or omitted: the channel's budget"`
	CatchUp  int    `json:"catch_up_minutes,omitempty" minimum:"0" maximum:"10080" doc:"A firing later than this number of minutes is skipped; default 720"`
	To       string `json:"deliver_to,omitempty" maxLength:"300" doc:"Chat that gets the replies, as account/chat; default: the home chat, which the command /home selects"`
	Overlap  string `json:"overlap,omitempty" enum:"skip,queue" doc:"What to do if the previous turn has no reply yet; default skip"`
}

// Backfill is a range of local dates whose firings are repeated, both inclusive.
type Backfill struct {
	From  string `json:"from" format:"date"`
	Until string `json:"until" format:"date"`
}

// FiringList holds firings with their results.
type FiringList struct {
	Firings []Firing `json:"firings"`
}

// NamedSchedule is the path parameter that names a task.
type NamedSchedule struct {
	ID string `path:"id" maxLength:"64" doc:"The task's name"`
}

func (g *Gateway) scheduleRoutes() {
	const path = "/v1/schedules"
	const one = path + "/{id}"
	handle(g, route{
		method:  http.MethodGet,
		path:    path,
		id:      "listSchedules",
		tag:     tagSchedules,
		scope:   access.Read,
		summary: "List scheduled tasks",
		about: "Every workspace has the built-in tasks daily-reflection, which uses the settings time_zone and " +
			"reflection_cron, weekly-curation for skills, and nightly-evolution for memory skills. starts_at is " +
			"later than due_at by the quiet hours (setting quiet_hours) and by the workspace's share of " +
			"CAIRN_SWEEP_JITTER. off is true if the settings turn the task off.",
	}, g.listSchedules)
	handle(g, route{
		method:  http.MethodPost,
		path:    path,
		id:      "addSchedule",
		tag:     tagSchedules,
		scope:   access.Write,
		status:  http.StatusCreated,
		bytes:   smallBody,
		summary: "Schedule a prompt",
		about: "Each firing is a turn in the task's own conversation. If several firings were missed, only the " +
			"latest runs.",
	},
		g.addSchedule)
	handle(g, route{method: http.MethodGet, path: one, id: "showSchedule", tag: tagSchedules, scope: access.Read,
		summary: "Get a scheduled task"}, g.showSchedule)
	handle(g, route{method: http.MethodPatch, path: one, id: "changeSchedule", tag: tagSchedules, scope: access.Write,
		bytes: smallBody, summary: "Change a scheduled prompt",
		about: "Omitted fields stay. The conversation of the task stays, too. Built-in tasks follow the settings."},
		g.changeSchedule)
	handle(g, route{method: http.MethodGet, path: one + "/preview", id: "previewSchedule", tag: tagSchedules,
		scope: access.Read, summary: "List the next firings of a task",
		about: "Effects of clock changes are marked. With cron or time_zone, the firings are those that a change " +
			"would have."}, g.previewSchedule)
	handle(g, route{method: http.MethodDelete, path: one, id: "removeSchedule", tag: tagSchedules, scope: access.Write,
		status:  http.StatusNoContent,
		summary: "Remove a scheduled task", about: "Started turns continue, and the task's conversation stays. " +
			"Built-in tasks can only be paused."}, g.removeSchedule)
	handle(g, route{method: http.MethodPost, path: one + "/pause", id: "pauseSchedule", tag: tagSchedules,
		scope: access.Write, summary: "Pause a scheduled task"}, g.pauseSchedule)
	handle(g, route{method: http.MethodPost, path: one + "/resume", id: "resumeSchedule", tag: tagSchedules,
		scope: access.Write, summary: "Resume a scheduled task",
		about: "Missed firings are not repeated. The next reflection covers the days of the pause."}, g.resumeSchedule)
	handle(g, route{method: http.MethodPost, path: one + "/trigger", id: "triggerSchedule", tag: tagSchedules,
		scope: access.Write, summary: "Fire a task now, in addition to its schedule"}, g.triggerSchedule)
	handle(g, route{method: http.MethodPost, path: one + "/backfill", id: "backfillSchedule", tag: tagSchedules,
		scope: access.Write, bytes: smallBody,
		summary: "Fire a task for past due times",
		about:   "Existing firings are not repeated."}, g.backfillSchedule)
}

func (g *Gateway) listSchedules(ctx context.Context, _ *struct{}) (*bodyOf[ScheduleList], error) {
	tasks, err := g.Schedules.List(ctx, workspace(ctx))
	out := &bodyOf[ScheduleList]{ScheduleList{[]ScheduledTask{}}}
	for _, t := range tasks {
		out.Body.Schedules = append(out.Body.Schedules, ScheduledTask(t))
	}
	return out, err
}

func (g *Gateway) addSchedule(ctx context.Context, in *struct{ Body NewSchedule }) (*bodyOf[ScheduledTask], error) {
	b := in.Body
	t, err := g.Schedules.Add(ctx, workspace(ctx),
		scheduled.Draft{Name: b.Name, Cron: b.Cron, Zone: b.TimeZone, Prompt: b.Prompt, Channel: b.Channel,
			MaxTurns: b.MaxTurns,
			CatchUp:  time.Duration(b.CatchUp) * time.Minute, Overlap: b.Overlap, To: b.To})
	return &bodyOf[ScheduledTask]{ScheduledTask(t)}, err
}

func (g *Gateway) showSchedule(ctx context.Context, in *NamedSchedule) (*bodyOf[ScheduledTask], error) {
	t, err := g.Schedules.Get(ctx, workspace(ctx), in.ID)
	return &bodyOf[ScheduledTask]{ScheduledTask(t)}, err
}

func (g *Gateway) removeSchedule(ctx context.Context, in *NamedSchedule) (*struct{}, error) {
	return nil, g.Schedules.Remove(ctx, workspace(ctx), in.ID)
}

func (g *Gateway) pauseSchedule(ctx context.Context, in *NamedSchedule) (*bodyOf[ScheduledTask], error) {
	t, err := g.Schedules.Pause(ctx, workspace(ctx), in.ID)
	return &bodyOf[ScheduledTask]{ScheduledTask(t)}, err
}

func (g *Gateway) resumeSchedule(ctx context.Context, in *NamedSchedule) (*bodyOf[ScheduledTask], error) {
	t, err := g.Schedules.Resume(ctx, workspace(ctx), in.ID)
	return &bodyOf[ScheduledTask]{ScheduledTask(t)}, err
}

func (g *Gateway) triggerSchedule(ctx context.Context, in *struct {
	NamedSchedule
	IdempotencyKey
}) (*bodyOf[Firing], error) {
	from := asking(ctx)
	f, err := g.Schedules.Trigger(ctx, from.Workspace.ID, from.Workspace.Key, in.ID, in.IdempotencyKey.Key)
	return &bodyOf[Firing]{Firing(f)}, err
}

func (g *Gateway) backfillSchedule(ctx context.Context, in *struct {
	NamedSchedule
	Body Backfill
}) (*bodyOf[FiringList], error) {
	from, err := recurrence.ParseDate(in.Body.From)
	if err != nil {
		return nil, err
	}
	until, err := recurrence.ParseDate(in.Body.Until)
	if err != nil {
		return nil, err
	}
	caller := asking(ctx)
	fired, err := g.Schedules.Backfill(ctx, caller.Workspace.ID, caller.Workspace.Key, in.ID, from, until)
	out := &bodyOf[FiringList]{FiringList{[]Firing{}}}
	for _, f := range fired {
		out.Body.Firings = append(out.Body.Firings, Firing(f))
	}
	return out, err
}

// ScheduleChange changes a scheduled prompt. Omitted fields stay.
type ScheduleChange struct {
	Cron     *string `json:"cron,omitempty" maxLength:"200"`
	Prompt   *string `json:"prompt,omitempty"`
	TimeZone *string `json:"time_zone,omitempty" doc:"IANA time zone; empty: the workspace's"`
	Channel  *string `json:"channel,omitempty" enum:"voice,sms,chat,scheduled"`
	MaxTurns *int    `json:"max_turns,omitempty" minimum:"0" maximum:"50"`
	CatchUp  *int    `json:"catch_up_minutes,omitempty" minimum:"1" maximum:"10080"`
	To       *string `json:"deliver_to,omitempty" maxLength:"300" doc:"account/chat; empty: the home chat"`
	Overlap  *string `json:"overlap,omitempty" enum:"skip,queue"`
}

// NextFiring is a firing to come.
type NextFiring struct {
	At     time.Time `json:"at"`
	Local  string    `json:"local" doc:"On the clock of the task, with its UTC offset"`
	Date   string    `json:"local_date"`
	Change string    `json:"clock_change,omitempty" enum:"skipped,doubled" doc:"skipped: the clock skips this time, and the firing is directly after; doubled: the clock shows it twice"`
	Note   string    `json:"note,omitempty" doc:"Effect of a clock change"`
}

// NextFirings holds firings to come.
type NextFirings struct {
	Firings []NextFiring `json:"firings"`
}

func (g *Gateway) changeSchedule(ctx context.Context, in *struct {
	NamedSchedule
	Body ScheduleChange
}) (*bodyOf[ScheduledTask], error) {
	b := in.Body
	c := schedule.Change{Cron: b.Cron, Zone: b.TimeZone, Prompt: b.Prompt, Channel: b.Channel, MaxTurns: b.MaxTurns,
		Overlap: b.Overlap, To: b.To}
	if b.CatchUp != nil {
		minutes := time.Duration(*b.CatchUp) * time.Minute
		c.CatchUp = &minutes
	}
	t, err := g.Schedules.Change(ctx, workspace(ctx), in.ID, c)
	return &bodyOf[ScheduledTask]{ScheduledTask(t)}, err
}

func (g *Gateway) previewSchedule(ctx context.Context, in *struct {
	NamedSchedule
	Cron     string `query:"cron" maxLength:"200" doc:"In place of that of the task"`
	TimeZone string `query:"time_zone" maxLength:"100" doc:"In place of that of the task"`
	Limit    int    `query:"limit" default:"10" minimum:"1" maximum:"100"`
}) (*bodyOf[NextFirings], error) {
	all, err := g.Schedules.Preview(ctx, workspace(ctx), in.ID, in.Cron, in.TimeZone, in.Limit)
	out := &bodyOf[NextFirings]{NextFirings{[]NextFiring{}}}
	for _, f := range all {
		out.Body.Firings = append(out.Body.Firings, NextFiring{At: f.At, Local: f.Local.Format(time.RFC3339),
			Date: f.LocalDate.String(), Change: string(f.Meeting), Note: f.Note})
	}
	return out, err
}
