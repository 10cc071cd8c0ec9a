package console

import (
	"strings"

	"cairn/internal/domain/access"
	"cairn/internal/domain/approval"
	"cairn/internal/domain/fault"
	"cairn/internal/service/inbox"
)

func (c *Console) inboxRoutes() {
	c.handle("GET inbox", access.Read, c.listInbox)
	c.handle("POST inbox", access.Admin, c.decideInbox)
	c.handle("GET inbox/{item}", access.Read, c.showInboxItem)
	c.handle("POST inbox/{item}/approve", access.Admin, c.approveInboxItem)
	c.handle("POST inbox/{item}/reject", access.Admin, c.rejectInboxItem)
	c.handle("GET inbox/{item}/edit", access.Admin, c.showInboxEdit)
	c.handle("POST inbox/{item}/edit", access.Admin, c.editInboxItem)
}

// inboxItems is the number of items of each kind on the page of the inbox.
const inboxItems = 50

// bulkResult is an item of a bulk decision that failed.
type bulkResult struct{ ID, Code, Message string }

type inboxList struct {
	Items   []inbox.Item
	Failed  []bulkResult
	Decided int
	Bulk    bool // several can be decided at once
	Most    int  // at once
}

func (c *Console) listInbox(rq *request) error { return c.showInbox(rq, inboxList{}) }

func (c *Console) showInbox(rq *request, out inboxList) (err error) {
	if out.Items, err = c.Inbox.List(rq.ctx, rq.actor(), inboxItems); err != nil {
		return err
	}
	out.Bulk, out.Most = len(out.Items) > 1, inbox.MaxBulk
	return rq.render("inbox", "inbox.title", out)
}

// decideInbox approves or rejects the chosen items. The value of each box is the ID of an item and its sha.
func (c *Console) decideInbox(rq *request) error {
	_ = rq.r.PostFormValue("do") // parses the form
	var chosen []inbox.Choice
	for _, value := range rq.r.PostForm["item"] {
		id, sha, _ := strings.Cut(value, " ")
		chosen = append(chosen, inbox.Choice{ID: id, SHA: sha})
	}
	decide := c.Inbox.RejectAll
	switch rq.r.PostForm.Get("do") {
	case "approve":
		decide = c.Inbox.ApproveAll
	case "reject":
	default:
		return badParameter("do", rq.r.PostForm.Get("do"), "use the buttons of the page")
	}
	all, err := decide(rq.ctx, rq.actor(), chosen)
	if err != nil {
		return rq.again(err, c.listInbox)
	}
	out := inboxList{}
	for _, o := range all {
		if o.Err == nil {
			out.Decided++
			continue
		}
		f := presentable(o.Err)
		rq.log(f, o.Err)
		out.Failed = append(out.Failed, bulkResult{o.ID, string(f.Code), f.Message})
	}
	if len(out.Failed) == 0 {
		return rq.redirect("decided", "inbox")
	}
	return c.showInbox(rq, out)
}

type inboxPage struct {
	Item     inbox.Detail
	Blocking []approval.Finding
	Editing  bool // the text of the person is shown with its findings
}

func (c *Console) showInboxItem(rq *request) error {
	d, err := c.Inbox.Show(rq.ctx, rq.actor(), rq.named("item"))
	if err != nil {
		return err
	}
	return rq.render("inbox_item", d.Title, newInboxPage(d))
}

func newInboxPage(d inbox.Detail) inboxPage {
	out := inboxPage{Item: d}
	for _, f := range d.Findings {
		if f.Severity == approval.Block {
			out.Blocking = append(out.Blocking, f)
		}
	}
	return out
}

// approveInboxItem approves an item as it was shown. If it has changed since, the page shows it again as it is now.
func (c *Console) approveInboxItem(rq *request) error {
	if _, err := c.Inbox.Approve(rq.ctx, rq.actor(), rq.named("item"), rq.decision()); err != nil {
		return rq.again(err, c.showInboxItem)
	}
	return rq.redirect("approved", "inbox")
}

// decision returns the decision that the form makes about what it has shown.
func (rq *request) decision() approval.Decision {
	sha := rq.r.PostFormValue("sha")
	if sha == "" {
		sha = "-" // an empty one would approve the item as it is now
	}
	return approval.Decision{SHA: sha, Override: approval.Override{Findings: rq.r.PostForm["finding"],
		Reason: rq.r.PostFormValue("reason")}}
}

func (c *Console) rejectInboxItem(rq *request) error {
	if _, err := c.Inbox.Reject(rq.ctx, rq.actor(), rq.named("item")); err != nil {
		return rq.again(err, c.showInboxItem)
	}
	return rq.redirect("rejected", "inbox")
}

// showInboxEdit shows an item with its text to edit. After a failed approval, it shows the text of the person and the
// findings about it.
func (c *Console) showInboxEdit(rq *request) error {
	d, err := c.Inbox.Show(rq.ctx, rq.actor(), rq.named("item"))
	if err != nil {
		return err
	}
	if d.Editable == nil {
		return fault.New(fault.InvalidArgument, "a removal has no text", "approve or reject it")
	}
	out := newInboxPage(d)
	if rq.failed != nil || rq.r.PostForm.Has("check") {
		text := rq.editedText()
		edited, err := c.Inbox.Preview(rq.ctx, rq.actor(), rq.named("item"), text)
		if err == nil {
			out = newInboxPage(edited)
		} else if rq.failed == nil {
			rq.failed = presentable(err)
			rq.status = fault.Table[rq.failed.Code].HTTP
		}
		out.Item.Editable, out.Editing = &text, true
	}
	return rq.render("inbox_edit", d.Title, out)
}

func (rq *request) editedText() inbox.Text {
	return inbox.Text{Description: rq.r.PostForm.Get("description"),
		Content: strings.ReplaceAll(rq.r.PostForm.Get("content"), "\r\n", "\n"), Facts: rq.r.PostForm["fact"]}
}

// editInboxItem approves an item with the text of the person, or checks that text only.
func (c *Console) editInboxItem(rq *request) error {
	d := rq.decision()
	if rq.r.PostForm.Has("check") {
		return c.showInboxEdit(rq)
	}
	if _, err := c.Inbox.Edit(rq.ctx, rq.actor(), rq.named("item"), rq.editedText(), d); err != nil {
		return rq.again(err, c.showInboxEdit)
	}
	return rq.redirect("approved", "inbox")
}
