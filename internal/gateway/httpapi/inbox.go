package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/domain/approval"
	"cairn/internal/service/apikey"
	"cairn/internal/service/inbox"
)

type (
	// InboxItem is one thing that waits for a person.
	InboxItem inbox.Item
	// InboxDetail is an item with its diff, findings and evidence.
	InboxDetail inbox.Detail
	// InboxOutcome is the result of a decision.
	InboxOutcome inbox.Outcome
)

// InboxList holds what waits for a person.
type InboxList struct {
	Items []InboxItem `json:"items"`
}

// InboxPath is the path parameter that names an item.
type InboxPath struct {
	ID string `path:"item" maxLength:"20" doc:"The item's ID, such as s12, c7, m3, u1 or r1"`
}

func (g *Gateway) inboxRoutes() {
	const path = "/v1/inbox"
	handle(g, route{method: http.MethodGet, path: path, id: "listInbox", tag: tagApproval, scope: apikey.Read,
		summary: "List what waits for a person",
		about: "New skills, changes of skills, memory writes, and updates of policies and edits of banks of memory " +
			"skills that too few have voted on: those with the worst findings first, then the " +
			"oldest, and at the end what has expired."}, g.listInbox)
	handle(g, route{method: http.MethodGet, path: path + "/{item}", id: "showInboxItem", tag: tagApproval,
		scope: apikey.Read, summary: "Show an item with its diff, findings and evidence"}, g.showInboxItem)
	handle(g, route{
		method:  http.MethodPost,
		path:    path + "/{item}/approve",
		id:      "approveInboxItem",
		tag:     tagApproval,
		scope:   apikey.Admin,
		summary: "Approve an item",
		about: "Send the `sha` of the item as you have read it: if the item or the skill has changed since, " +
			"the request " +
			"fails with 409. If the item has blocking findings, name all of them in `override.findings` and give a " +
			"reason, which are stored in the audit log; else the request fails with 422 `override_required`. A " +
			"change of a skill that has a newer version is merged with it.",
	}, g.approveInboxItem)
	handle(g, route{method: http.MethodPost, path: path + "/{item}/reject", id: "rejectInboxItem", tag: tagApproval,
		scope: apikey.Admin, summary: "Reject an item",
		about: "A rejected new skill is archived."}, g.rejectInboxItem)
}

func (g *Gateway) listInbox(ctx context.Context, in *struct {
	Limit int `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"Items of each kind"`
}) (*bodyOf[InboxList], error) {
	items, err := g.ReviewInbox.List(ctx, person(ctx, IdempotencyKey{}), in.Limit)
	out := &bodyOf[InboxList]{InboxList{Items: []InboxItem{}}}
	for _, i := range items {
		out.Body.Items = append(out.Body.Items, InboxItem(i))
	}
	return out, err
}

func (g *Gateway) showInboxItem(ctx context.Context, in *InboxPath) (*bodyOf[InboxDetail], error) {
	d, err := g.ReviewInbox.Show(ctx, person(ctx, IdempotencyKey{}), in.ID)
	return &bodyOf[InboxDetail]{InboxDetail(d)}, err
}

func (g *Gateway) approveInboxItem(ctx context.Context, in *struct {
	InboxPath
	IdempotencyKey
	Body struct {
		SHA      string            `json:"sha" minLength:"1" maxLength:"64" doc:"The sha of the item as you have read it"`
		Override approval.Override `json:"override,omitzero"`
	}
}) (*bodyOf[InboxOutcome], error) {
	out, err := g.ReviewInbox.Approve(ctx, person(ctx, in.IdempotencyKey), in.ID,
		approval.Decision{SHA: in.Body.SHA, Override: in.Body.Override})
	return &bodyOf[InboxOutcome]{InboxOutcome(out)}, err
}

func (g *Gateway) rejectInboxItem(ctx context.Context, in *struct {
	InboxPath
	IdempotencyKey
}) (*bodyOf[InboxOutcome], error) {
	out, err := g.ReviewInbox.Reject(ctx, person(ctx, in.IdempotencyKey), in.ID)
	return &bodyOf[InboxOutcome]{InboxOutcome(out)}, err
}
