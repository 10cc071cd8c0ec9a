package console

import (
	"fmt"
	"strconv"

	"cairn/internal/domain/fault"
	"cairn/internal/service/apikey"
)

func (c *Console) outboxRoutes() {
	c.handle("GET outbox", apikey.Read, c.listOutbox)
	c.handle("POST outbox/{task}/retry", apikey.Write, c.retryOutbox)
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
