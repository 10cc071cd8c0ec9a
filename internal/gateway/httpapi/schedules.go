package httpapi

import (
	"context"
	"net/http"
	"time"

	"cairn/internal/domain/recurrence"
	"cairn/internal/service/apikey"
	"cairn/internal/service/schedule"
)

const tagSchedules = "schedules"

type (
	// ScheduledTask is a task and when it is due.
	ScheduledTask schedule.Task
	// Firing is a time at which a task was due.
	Firing schedule.FiringRecord
)

// ScheduleList are the workspace's scheduled tasks, the built-in ones first.
type ScheduleList struct {
	Schedules []ScheduledTask `json:"schedules"`
}

// NewSchedule is a prompt that is answered each time that it is due.
type NewSchedule struct {
	Name     string `json:"name" maxLength:"64" doc:"Lower-case words joined by hyphens"`
	Cron     string `json:"cron" maxLength:"200" doc:"Minute, hour, day of the month, month, day of the week; or @daily, @every 2h and the like"`
	Prompt   string `json:"prompt" doc:"What is to be done each time"`
	TimeZone string `json:"time_zone,omitempty" doc:"IANA name; else the workspace's"`
	Channel  string `json:"channel,omitempty" enum:"voice,sms,chat,scheduled" doc:"Decides the budget of model calls; scheduled has 15"`
	MaxTurns int    `json:"max_turns,omitempty" minimum:"0" maximum:"50" doc:"Model calls, in place of the channel's budget"`
	CatchUp  int    `json:"catch_up_minutes,omitempty" minimum:"0" maximum:"10080" doc:"A firing that is later than this is skipped; 720 when it is left out"`
	Overlap  string `json:"overlap,omitempty" enum:"skip,queue" doc:"When the turn before has no answer yet"`
}

// Backfill are the local dates whose firings are made up for, both included.
type Backfill struct {
	From  string `json:"from" format:"date"`
	Until string `json:"until" format:"date"`
}

// FiringList are firings and what became of them.
type FiringList struct {
	Firings []Firing `json:"firings"`
}

// NamedSchedule is a task in a path.
type NamedSchedule struct {
	ID string `path:"id" maxLength:"64" doc:"The task's name"`
}

func (g *Gateway) scheduleRoutes() {
	const path = "/v1/schedules"
	const one = path + "/{id}"
	handle(g, route{method: http.MethodGet, path: path, id: "listSchedules", tag: tagSchedules, scope: apikey.Read,
		summary: "List what is done again and again",
		about: "Every workspace has daily-reflection, which follows the settings time_zone and reflection_cron, " +
			"weekly-curation, and nightly-evolution, which is about memory skills. " +
			"starts_at is later than due_at in quiet hours (settings quiet_hours), and by the workspace's place in " +
			"CAIRN_SWEEP_JITTER. off tells that the settings turn it off."}, g.listSchedules)
	handle(g, route{method: http.MethodPost, path: path, id: "addSchedule", tag: tagSchedules, scope: apikey.Write,
		status: http.StatusCreated, bytes: smallBody,
		summary: "Have a prompt answered again and again",
		about:   "Each firing is a turn in a conversation of the task's own. Missed firings are one, the latest."},
		g.addSchedule)
	handle(g, route{method: http.MethodGet, path: one, id: "showSchedule", tag: tagSchedules, scope: apikey.Read,
		summary: "Show a scheduled task"}, g.showSchedule)
	handle(g, route{method: http.MethodDelete, path: one, id: "removeSchedule", tag: tagSchedules, scope: apikey.Write,
		status:  http.StatusNoContent,
		summary: "Remove a scheduled task", about: "What it has started goes on, and its conversation stays. " +
			"Built-in tasks can only be paused."}, g.removeSchedule)
	handle(g, route{method: http.MethodPost, path: one + "/pause", id: "pauseSchedule", tag: tagSchedules,
		scope: apikey.Write, summary: "Keep a task from coming due"}, g.pauseSchedule)
	handle(g, route{method: http.MethodPost, path: one + "/resume", id: "resumeSchedule", tag: tagSchedules,
		scope: apikey.Write, summary: "Let a task come due again",
		about: "What it missed is not made up for; the next reflection covers the days between."}, g.resumeSchedule)
	handle(g, route{method: http.MethodPost, path: one + "/trigger", id: "triggerSchedule", tag: tagSchedules,
		scope: apikey.Write, summary: "Fire a task now, beside its cadence"}, g.triggerSchedule)
	handle(g, route{method: http.MethodPost, path: one + "/backfill", id: "backfillSchedule", tag: tagSchedules,
		scope: apikey.Write, bytes: smallBody,
		summary: "Fire a task for each time that it was due in the past",
		about:   "A firing that was there before is not repeated."}, g.backfillSchedule)
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
		schedule.Draft{Name: b.Name, Cron: b.Cron, Zone: b.TimeZone, Prompt: b.Prompt, Channel: b.Channel,
			MaxTurns: b.MaxTurns,
			CatchUp:  time.Duration(b.CatchUp) * time.Minute, Overlap: b.Overlap})
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
