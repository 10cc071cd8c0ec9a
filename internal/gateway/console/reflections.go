package console

import "cairn/internal/domain/access"

func (c *Console) reflectionRoutes() {
	c.handle("GET reflections", access.Read, c.listReflections)
	c.handle("GET reflections/{date}", access.Read, c.showReflection)
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
