package console

import (
	"cairn/internal/domain/approval"
	"cairn/internal/service/apikey"
	"cairn/internal/service/inbox"
)

func (c *Console) inboxRoutes() {
	c.handle("GET inbox", apikey.Read, c.listInbox)
	c.handle("GET inbox/{item}", apikey.Read, c.showInboxItem)
	c.handle("POST inbox/{item}/approve", apikey.Admin, c.approveInboxItem)
	c.handle("POST inbox/{item}/reject", apikey.Admin, c.rejectInboxItem)
}

// inboxItems is the number of items of each kind on the page of the inbox.
const inboxItems = 50

func (c *Console) listInbox(rq *request) error {
	items, err := c.Inbox.List(rq.ctx, rq.actor(), inboxItems)
	if err != nil {
		return err
	}
	return rq.render("inbox", "inbox.title", struct{ Items []inbox.Item }{items})
}

type inboxPage struct {
	Item     inbox.Detail
	Blocking []approval.Finding
}

func (c *Console) showInboxItem(rq *request) error {
	d, err := c.Inbox.Show(rq.ctx, rq.actor(), rq.named("item"))
	if err != nil {
		return err
	}
	out := inboxPage{Item: d}
	for _, f := range d.Findings {
		if f.Severity == approval.Block {
			out.Blocking = append(out.Blocking, f)
		}
	}
	return rq.render("inbox_item", d.Title, out)
}

// approveInboxItem approves an item as it was shown. If it has changed since, the page shows it again as it is now.
func (c *Console) approveInboxItem(rq *request) error {
	sha := rq.r.PostFormValue("sha")
	if sha == "" {
		sha = "-" // an empty one would approve the item as it is now
	}
	d := approval.Decision{SHA: sha, Override: approval.Override{Findings: rq.r.PostForm["finding"],
		Reason: rq.r.PostFormValue("reason")}}
	if _, err := c.Inbox.Approve(rq.ctx, rq.actor(), rq.named("item"), d); err != nil {
		return rq.again(err, c.showInboxItem)
	}
	return rq.redirect("approved", "inbox")
}

func (c *Console) rejectInboxItem(rq *request) error {
	if _, err := c.Inbox.Reject(rq.ctx, rq.actor(), rq.named("item")); err != nil {
		return rq.again(err, c.showInboxItem)
	}
	return rq.redirect("rejected", "inbox")
}
