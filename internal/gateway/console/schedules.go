package console

import (
	"cmp"

	"cairn/internal/domain/access"
	"cairn/internal/domain/recurrence"
	"cairn/internal/domain/scheduled"
	"cairn/internal/service/schedule"
)

func (c *Console) scheduleRoutes() {
	c.handle("GET schedules", access.Read, c.listSchedules)
	c.handle("POST schedules", access.Write, c.addSchedule)
	c.handle("GET schedules/{schedule}", access.Read, c.showSchedule)
	c.handle("POST schedules/{schedule}", access.Write, c.changeSchedule)
	c.handle("POST schedules/{schedule}/backfill", access.Write, c.backfillSchedule)
	for verb, change := range map[string]func(rq *request, name string) (notice string, err error){
		"pause": func(rq *request, name string) (string, error) {
			_, err := c.Schedules.Pause(rq.ctx, rq.ws(), name)
			return "paused", err
		},
		"resume": func(rq *request, name string) (string, error) {
			_, err := c.Schedules.Resume(rq.ctx, rq.ws(), name)
			return "resumed", err
		},
		"trigger": func(rq *request, name string) (string, error) {
			f, err := c.Schedules.Trigger(rq.ctx, rq.ws(), rq.grant.Workspace.Key, name, rq.r.PostFormValue("op"))
			return firingNotice(f), err
		},
		"remove": func(rq *request, name string) (string, error) {
			return "removed", c.Schedules.Remove(rq.ctx, rq.ws(), name)
		},
	} {
		c.handle("POST schedules/{schedule}/"+verb, access.Write, func(rq *request) error {
			notice, err := change(rq, rq.named("schedule"))
			if err != nil {
				return rq.again(err, c.listSchedules)
			}
			return rq.redirect(notice, "schedules")
		})
	}
}

// firingNotice is the notice of firings: one that has not started anything must not seem to have.
func firingNotice(all ...scheduled.FiringRecord) string {
	for _, f := range all {
		if f.Outcome == schedule.Started || f.Outcome == "" {
			return "started"
		}
	}
	return "skipped"
}

func (c *Console) listSchedules(rq *request) error {
	tasks, err := c.Schedules.List(rq.ctx, rq.ws())
	if err != nil {
		return err
	}
	t := table{ID: "tasks", Title: "schedules.title", Empty: "schedules.empty",
		Columns: []string{"col.name", "schedules.cron", "schedules.next", "schedules.last", "skill.actions"}}
	for _, task := range tasks {
		t.Rows = append(t.Rows, c.scheduleRow(rq, task))
	}
	return rq.render("grid", "schedules.title", grid{About: "schedules.about", Tables: []table{t}, Forms: []form{{
		ID: "add", Title: "schedules.add", Path: rq.path("schedules"), Button: rq.button(access.Write, "schedules.save",
			"primary", ""),
		Fields: []field{
			{Name: "name", Label: "col.name", Kind: "text", Required: true, Value: rq.typed("name", "")},
			{Name: "cron", Label: "schedules.cron", Kind: "text", Required: true, Value: rq.typed("cron", "0 9 * * 1"),
				Hint: "schedules.cron_hint"},
			{
				Name:     "prompt",
				Label:    "schedules.prompt",
				Kind:     "area",
				Required: true,
				Value:    rq.typed("prompt", ""),
			},
		}}}})
}

func (c *Console) scheduleRow(rq *request, task scheduled.Task) []cell {
	act := func(verb, label, kind string) action {
		return action{
			Path:   rq.path("schedules", task.Name, verb),
			Button: rq.button(access.Write, label, kind, task.Name),
		}
	}
	next := rq.at(task.DueAt)
	actions := []action{act("trigger", "schedules.trigger", "")}
	switch {
	case task.PausedAt != nil:
		next = rq.tagged("schedule", "paused")
		actions = append(actions, act("resume", "schedules.resume", ""))
	case task.Off:
		next = rq.tagged("schedule", "off")
	default:
		actions = append(actions, act("pause", "schedules.pause", ""))
	}
	if task.Kind == scheduled.Turn {
		actions = append(actions, act("remove", "schedules.remove", "danger"))
	}
	last := cell{}
	if task.Last != nil {
		last = rq.at(task.Last.At)
		last.Quiet = rq.worded("firing", task.Last.Outcome) + " " + task.Last.Reason
	}
	name := cell{Text: task.Name, Quiet: clipText(task.Prompt, 160), Link: rq.path("schedules", task.Name)}
	return []cell{name, {Text: task.Cron, Quiet: task.Zone}, next, last, {Actions: actions}}
}

func (c *Console) addSchedule(rq *request) error {
	_, err := c.Schedules.Add(rq.ctx, rq.ws(), scheduled.Draft{Name: rq.r.PostFormValue("name"),
		Cron: rq.r.PostFormValue("cron"), Prompt: rq.r.PostFormValue("prompt")})
	if err != nil {
		return rq.again(err, c.listSchedules)
	}
	return rq.redirect("saved", "schedules")
}

const firingsShown = 10

// showSchedule shows a task with its next firings. The query can name another schedule, to see what a change does.
func (c *Console) showSchedule(rq *request) error {
	task, err := c.Schedules.Get(rq.ctx, rq.ws(), rq.named("schedule"))
	if err != nil {
		return err
	}
	cron, zone := clipText(rq.text("cron"), 200), clipText(rq.text("zone"), 100)
	next, err := c.Schedules.Preview(rq.ctx, rq.ws(), task.Name, cron, zone, firingsShown)
	if err != nil {
		return err
	}
	own := ""
	if task.Zoned {
		own = task.Zone
	}
	about := table{ID: "task", Title: "schedules.task", Columns: []string{"col.name", "schedules.cron",
		"schedules.next", "schedules.last", "skill.actions"}, Rows: [][]cell{c.scheduleRow(rq, task)}}
	out := grid{Tables: []table{about, c.firings(rq, next, cron != "" || zone != "")},
		Links: []link{{rq.path("schedules"), "schedules.title"}}}
	if task.Kind == scheduled.Turn {
		out.Links = append(out.Links, link{rq.path("conversations", task.Conversation()), "col.conversation"})
	}
	out.Forms = []form{{ID: "preview", Get: true, Button: button{Label: "schedules.preview"}, Fields: []field{
		{Name: "cron", Label: "schedules.cron", Kind: "text", Value: cmp.Or(cron, task.Cron)},
		{Name: "zone", Label: "schedules.zone", Kind: "text", Value: cmp.Or(zone, own), Hint: "schedules.zone_hint"}}}}
	if task.Kind == scheduled.Turn {
		out.Forms = append(out.Forms, form{ID: "change", Title: "schedules.change",
			Path: rq.path("schedules", task.Name), Button: rq.button(access.Write, "memory.save", "primary", ""),
			Fields: []field{
				{Name: "cron", Label: "schedules.cron", Kind: "text", Required: true,
					Value: rq.typed("cron", cmp.Or(cron, task.Cron)), Hint: "schedules.cron_hint"},
				{Name: "zone", Label: "schedules.zone", Kind: "text", Value: rq.typed("zone", cmp.Or(zone, own)),
					Hint: "schedules.zone_hint"},
				{Name: "prompt", Label: "schedules.prompt", Kind: "area", Required: true,
					Value: rq.typed("prompt", task.Prompt)}}})
	}
	out.Forms = append(out.Forms, form{ID: "backfill", Title: "schedules.backfill",
		Path: rq.path("schedules", task.Name, "backfill"), Button: rq.button(access.Write, "schedules.fire", "", ""),
		Fields: []field{{Name: "from", Label: "usage.from", Kind: "date", Required: true, Value: rq.typed("from", "")},
			{Name: "until", Label: "usage.to", Kind: "date", Required: true, Value: rq.typed("until", ""),
				Hint: "schedules.backfill_hint"}}})
	return rq.render("grid", task.Name, out)
}

func (c *Console) firings(rq *request, next []recurrence.Firing, changed bool) table {
	t := table{ID: "next", Title: "schedules.firings", Empty: "schedules.none",
		Columns: []string{"schedules.local", "audit.at", "schedules.clock"}}
	if changed {
		t.Title = "schedules.firings_then"
	}
	for _, f := range next {
		row := []cell{{Text: f.Local.Format("2006-01-02 15:04:05 MST")}, rq.at(f.At), {Text: f.Note}}
		if f.Meeting != recurrence.Plain {
			row[2] = rq.tagged("clock", f.Meeting)
			row[2].Quiet = f.Note
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (c *Console) changeSchedule(rq *request) error {
	cron, zone, prompt := rq.r.PostFormValue("cron"), rq.r.PostFormValue("zone"), rq.r.PostFormValue("prompt")
	name := rq.named("schedule")
	if _, err := c.Schedules.Change(rq.ctx, rq.ws(), name,
		schedule.Change{Cron: &cron, Zone: &zone, Prompt: &prompt}); err != nil {
		return rq.again(err, c.showSchedule)
	}
	return rq.redirect("saved", "schedules", name)
}

// backfillSchedule fires a task for past days.
func (c *Console) backfillSchedule(rq *request) error {
	name := rq.named("schedule")
	from, err := recurrence.ParseDate(rq.r.PostFormValue("from"))
	if err != nil {
		return rq.again(err, c.showSchedule)
	}
	until, err := recurrence.ParseDate(rq.r.PostFormValue("until"))
	if err != nil {
		return rq.again(err, c.showSchedule)
	}
	ws := rq.grant.Workspace
	fired, err := c.Schedules.Backfill(rq.ctx, ws.ID, ws.Key, name, from, until)
	if err != nil {
		return rq.again(err, c.showSchedule)
	}
	return rq.redirect(firingNotice(fired...), "schedules", name)
}
