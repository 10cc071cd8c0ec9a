package console

import (
	"fmt"
	"strconv"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/readmodel"
)

func (c *Console) outboxRoutes() {
	c.handle("GET outbox", access.Read, c.listOutbox)
	c.handle("POST outbox/{task}/retry", access.Write, c.retryOutbox)
}

func (c *Console) listOutbox(rq *request) error {
	limit, err := rq.limit()
	if err != nil {
		return err
	}
	tasks, next, err := c.Explore.Outbox(rq.ctx, rq.ws(), rq.text("cursor"), limit)
	if err != nil {
		return err
	}
	t := table{ID: "tasks", Next: next, Title: "outbox.title", Empty: "outbox.empty",
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
				Button: rq.button(access.Write, "outbox.retry", "", id)}}},
		})
	}
	unfinished, err := c.unfinished(rq)
	if err != nil {
		return err
	}
	return rq.render("grid", "outbox.title", grid{About: "outbox.about", Tables: []table{t, unfinished}})
}

// unfinished lists other work that does not go on by itself: failed days, and model calls without a stored reply.
func (c *Console) unfinished(rq *request) (table, error) {
	t := table{ID: "unfinished", Title: "outbox.unfinished", Empty: "outbox.all_finished",
		Columns: []string{"outbox.what", "outbox.number", "outbox.error", "outbox.since", "outbox.remedy"}}
	reasons, err := c.Health.Reasons(rq.ctx, rq.ws())
	for _, r := range reasons {
		if r.Code != readmodel.CallsUnknown && r.Code != readmodel.ReflectionFailed {
			continue
		}
		t.Rows = append(t.Rows, []cell{{Text: rq.worded("health", r.Code), Link: rq.path() + r.Link, Quiet: r.Name},
			rq.numeric(r.Count), plain(r.Detail), rq.at(r.Since), plain(rq.worded("remedy", r.Code))})
	}
	return t, err
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
