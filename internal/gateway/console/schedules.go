package console

import (
	"fmt"
	"strconv"

	"cairn/internal/domain/fault"
	"cairn/internal/service/apikey"
	"cairn/internal/service/schedule"
)

func (c *Console) scheduleRoutes() {
	c.handle("GET schedules", apikey.Read, c.listSchedules)
	c.handle("POST schedules", apikey.Write, c.addSchedule)
	for verb, do := range map[string]struct {
		notice string
		change func(rq *request, name string) error
	}{
		"pause": {"paused", func(rq *request, name string) error {
			_, err := c.Schedules.Pause(rq.ctx, rq.ws(), name)
			return err
		}},
		"resume": {"resumed", func(rq *request, name string) error {
			_, err := c.Schedules.Resume(rq.ctx, rq.ws(), name)
			return err
		}},
		"trigger": {"started", func(rq *request, name string) error {
			_, err := c.Schedules.Trigger(rq.ctx, rq.ws(), rq.grant.Workspace.Key, name, rq.r.PostFormValue("op"))
			return err
		}},
		"remove": {"removed", func(rq *request, name string) error {
			return c.Schedules.Remove(rq.ctx, rq.ws(), name)
		}},
	} {
		c.handle("POST schedules/{schedule}/"+verb, apikey.Write, func(rq *request) error {
			if err := do.change(rq, rq.named("schedule")); err != nil {
				return rq.again(err, c.listSchedules)
			}
			return rq.redirect(do.notice, "schedules")
		})
	}
	c.handle("GET reflections", apikey.Read, c.listReflections)
	c.handle("GET reflections/{date}", apikey.Read, c.showReflection)
	c.handle("GET outbox", apikey.Read, c.listOutbox)
	c.handle("POST outbox/{task}/retry", apikey.Write, c.retryOutbox)
	c.handle("GET channels", apikey.Read, c.listDeliveries)
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
		ID: "add", Title: "schedules.add", Path: rq.path("schedules"), Button: rq.button(apikey.Write, "schedules.save",
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

func (c *Console) scheduleRow(rq *request, task schedule.Task) []cell {
	act := func(verb, label, kind string) action {
		return action{
			Path:   rq.path("schedules", task.Name, verb),
			Button: rq.button(apikey.Write, label, kind, task.Name),
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
	if task.Kind == schedule.Turn {
		actions = append(actions, act("remove", "schedules.remove", "danger"))
	}
	last := cell{}
	if task.Last != nil {
		last = rq.at(task.Last.At)
		last.Quiet = rq.worded("firing", task.Last.Outcome) + " " + task.Last.Reason
	}
	name := cell{Text: task.Name, Quiet: clip(task.Prompt, 160)}
	if task.Kind == schedule.Turn {
		name.Link = rq.path("conversations", task.Conversation())
	}
	return []cell{name, {Text: task.Cron, Quiet: task.Zone}, next, last, {Actions: actions}}
}

func (c *Console) addSchedule(rq *request) error {
	_, err := c.Schedules.Add(rq.ctx, rq.ws(), schedule.Draft{Name: rq.r.PostFormValue("name"),
		Cron: rq.r.PostFormValue("cron"), Prompt: rq.r.PostFormValue("prompt")})
	if err != nil {
		return rq.again(err, c.listSchedules)
	}
	return rq.redirect("saved", "schedules")
}

const daysShown = 60

func (c *Console) listReflections(rq *request) error {
	days, err := c.Reflect.List(rq.ctx, rq.ws(), rq.text("from"), rq.text("to"), daysShown)
	if err != nil {
		return err
	}
	t := table{
		ID:      "days",
		Title:   "reflections.title",
		Empty:   "reflections.empty",
		Command: "cairn reflect",
		Columns: []string{
			"col.date",
			"col.status",
			"nav.conversations",
			"reflections.notes",
			"nav.memories",
			"nav.skills",
			"col.run",
		},
	}
	for _, d := range days {
		row := []cell{{Text: d.Date, Link: rq.path("reflections", d.Date)}, rq.tagged("day", d.Status),
			rq.numeric(d.Conversations), rq.numeric(d.Notes), rq.numeric(d.Memories), rq.numeric(d.Skills), {}}
		row[1].Quiet = d.Reason
		if d.Run != "" {
			row[6] = cell{Text: d.Run, Link: rq.path("runs", d.Run)}
		}
		t.Rows = append(t.Rows, row)
	}
	return rq.render("grid", "reflections.title", grid{About: "reflections.about", Tables: []table{t}})
}

func (c *Console) showReflection(rq *request) error {
	d, err := c.Reflect.Show(rq.ctx, rq.ws(), rq.named("date"))
	if err != nil {
		return err
	}
	runs := table{ID: "runs", Title: "nav.runs", Empty: "overview.no_runs",
		Columns: []string{"col.run", "col.status", "inbox.reason"}}
	for _, r := range d.Runs {
		runs.Rows = append(runs.Rows, []cell{{Text: r.Run, Link: rq.path("runs", r.Run)},
			rq.tagged("day", r.Status), plain(r.Reason)})
	}
	notes := table{ID: "notes", Title: "reflections.notes", Empty: "reflections.no_notes",
		Columns: []string{"type.note", "col.created"}}
	for _, n := range d.Notes {
		notes.Rows = append(notes.Rows, []cell{{Text: n.Content, Link: rq.path("memories", n.ID)}, rq.at(n.CreatedAt)})
	}
	return rq.render("grid", d.Date, grid{Tables: []table{notes, runs},
		Links: []link{{rq.path("reflections"), "reflections.title"}}})
}

const tasksShown = 200

func (c *Console) listOutbox(rq *request) error {
	tasks, err := c.Explore.Outbox(rq.ctx, rq.ws(), tasksShown)
	if err != nil {
		return err
	}
	t := table{ID: "tasks", Title: "outbox.title", Empty: "outbox.empty",
		Columns: []string{"col.kind", "outbox.attempts", "outbox.failures", "outbox.error", "col.created", "outbox.due",
			"skill.actions"}}
	for _, o := range tasks {
		id := strconv.FormatInt(o.ID, 10)
		t.Rows = append(t.Rows, []cell{
			{Text: o.Kind, Quiet: o.Key},
			rq.numeric(o.Attempts),
			rq.numeric(o.Failures),
			plain(
				o.Error,
			),
			rq.at(o.CreatedAt),
			rq.at(o.DueAt),
			{Actions: []action{{Path: rq.path("outbox", id, "retry"),
				Button: rq.button(apikey.Write, "outbox.retry", "", id)}}},
		})
	}
	return rq.render("grid", "outbox.title", grid{About: "outbox.about", Tables: []table{t}})
}

func (c *Console) retryOutbox(rq *request) error {
	id, err := strconv.ParseInt(rq.named("task"), 10, 64)
	if err != nil {
		return fault.New(fault.NotFound, fmt.Sprintf("outbox task %.40q not found", rq.named("task")),
			"list the outbox again")
	}
	if err := c.Explore.RetryOutbox(rq.ctx, rq.ws(), id); err != nil {
		return rq.again(err, c.listOutbox)
	}
	return rq.redirect("started", "outbox")
}

func (c *Console) listDeliveries(rq *request) error {
	states := []string{"dead", "ready", "streaming", "sent", "dropped"}
	state, err := rq.choice("state", states...)
	if err != nil {
		return err
	}
	all, err := c.Deliveries.Deliveries(rq.ctx, rq.ws(), state, tasksShown)
	if err != nil {
		return err
	}
	t := table{ID: "deliveries", Title: "channels.deliveries", Empty: "channels.empty", Command: "cairn gateway",
		Columns: []string{"channels.chat", "channels.source", "col.status", "outbox.attempts", "col.created"}}
	for _, d := range all {
		row := []cell{{Text: d.Place.Account + "/" + d.Place.Chat}, plain(d.Source), rq.tagged("delivery", d.State),
			rq.numeric(d.Attempts), rq.at(d.CreatedAt)}
		row[2].Quiet = d.Reason
		t.Rows = append(t.Rows, row)
	}
	return rq.render("grid", "channels.title", grid{About: "channels.about", Tables: []table{t},
		Forms: []form{rq.filter("state", "col.status", "delivery", states)}})
}

// filter returns a form with one filter of a list.
func (rq *request) filter(name, label, prefix string, values []string) form {
	options := []option{{"", rq.c.pages[rq.lang].texts.Text("list.all"), false}}
	for _, v := range values {
		options = append(options, option{v, rq.worded(prefix, v), v == rq.text(name)})
	}
	return form{ID: "filter", Get: true, Button: button{Label: "list.apply"},
		Fields: []field{{Name: name, Label: label, Kind: "select", Options: options}}}
}
