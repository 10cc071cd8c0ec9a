package console

import (
	"fmt"
	"strconv"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/service/channel"
)

func (c *Console) channelRoutes() {
	c.handle("GET channels", access.Read, c.listDeliveries)
	c.handle("POST channels/{delivery}/retry", access.Admin, c.retryDelivery)
	c.handle("POST channels/{delivery}/drop", access.Admin, c.dropDelivery)
}

const peopleShown = 200

func (c *Console) listDeliveries(rq *request) error {
	states := []string{"dead", "ready", "streaming", "sent", "dropped"}
	state, err := rq.choice("state", states...)
	if err != nil {
		return err
	}
	limit, err := rq.limit()
	if err != nil {
		return err
	}
	all, next, err := c.Channels.ListDeliveries(rq.ctx, rq.ws(), state, rq.text("cursor"), limit)
	if err != nil {
		return err
	}
	t := table{
		ID:      "deliveries",
		Next:    next,
		Title:   "channels.deliveries",
		Empty:   "channels.empty",
		Command: "cairn gateway",
		Columns: []string{"channels.chat", "channels.source", "col.status", "outbox.attempts", "col.created",
			"skill.actions"},
	}
	for _, d := range all {
		row := []cell{{Text: d.Place.Account + "/" + d.Place.Chat}, plain(d.Source), rq.tagged("delivery", d.State),
			rq.numeric(d.Attempts), rq.at(d.CreatedAt), {}}
		row[2].Quiet = d.Reason
		if d.State == channel.DeliveryDead {
			id := strconv.FormatInt(d.ID, 10)
			row[5].Actions = []action{
				{Path: rq.path("channels", id, "retry"), Button: rq.button(access.Admin, "channels.retry", "", id)},
				{Path: rq.path("channels", id, "drop"), Button: rq.button(access.Admin, "channels.drop", "danger", id)}}
		}
		t.Rows = append(t.Rows, row)
	}
	people, err := c.people(rq)
	if err != nil {
		return err
	}
	return rq.render("grid", "channels.title", grid{About: "channels.about", Tables: []table{t, people},
		Forms: []form{rq.filter("state", "col.status", "delivery", states)}})
}

func (c *Console) people(rq *request) (table, error) {
	t := table{ID: "people", Title: "channels.people", Empty: "channels.no_people",
		Columns: []string{"col.name", "channels.account", "col.kind", "channels.role", "col.created"}}
	all, err := c.Channels.PeopleOf(rq.ctx, rq.ws(), peopleShown)
	for _, i := range all {
		t.Rows = append(t.Rows, []cell{{Text: i.Name, Quiet: i.User}, plain(i.Account), rq.tagged("person", i.Kind),
			rq.tagged("person", i.Role), rq.at(i.CreatedAt)})
	}
	return t, err
}

func (rq *request) delivery() (int64, error) {
	id, err := strconv.ParseInt(rq.named("delivery"), 10, 64)
	if err != nil {
		return 0, fault.New(fault.NotFound, fmt.Sprintf("delivery %.40q not found", rq.named("delivery")),
			"list the deliveries again")
	}
	return id, nil
}

func (c *Console) retryDelivery(rq *request) error {
	id, err := rq.delivery()
	if err == nil {
		err = c.Channels.Retry(rq.ctx, rq.ws(), id)
	}
	if err != nil {
		return rq.again(err, c.listDeliveries)
	}
	return rq.redirect("started", "channels")
}

func (c *Console) dropDelivery(rq *request) error {
	id, err := rq.delivery()
	if err == nil {
		err = c.Channels.Drop(rq.ctx, rq.ws(), id)
	}
	if err != nil {
		return rq.again(err, c.listDeliveries)
	}
	return rq.redirect("removed", "channels")
}
