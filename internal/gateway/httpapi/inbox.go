package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/domain/access"
	"cairn/internal/domain/approval"
	"cairn/internal/gateway/edge"
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
	handle(g, route{method: http.MethodGet, path: path, id: "listInbox", tag: tagApproval, scope: access.Read,
		summary: "List what waits for a person",
		about: "New skills, changes of skills, memory writes, and updates of policies and edits of banks of memory " +
			"skills that too few have voted on: those with the worst findings first, then the " +
			"oldest, and at the end what has expired."}, g.listInbox)
	handle(g, route{method: http.MethodGet, path: path + "/{item}", id: "showInboxItem", tag: tagApproval,
		scope: access.Read, summary: "Show an item with its diff, findings and evidence"}, g.showInboxItem)
	handle(g, route{
		method:  http.MethodPost,
		path:    path + "/{item}/approve",
		id:      "approveInboxItem",
		tag:     tagApproval,
		scope:   access.Admin,
		summary: "Approve an item",
		about: "Send the `sha` of the item as you have read it: if the item or the skill has changed since, " +
			"the request " +
			"fails with 409. If the item has blocking findings, name all of them in `override.findings` and give a " +
			"reason, which are stored in the audit log; else the request fails with 422 `override_required`. A " +
			"change of a skill that has a newer version is merged with it.",
	}, g.approveInboxItem)
	handle(g, route{method: http.MethodPost, path: path + "/{item}/reject", id: "rejectInboxItem", tag: tagApproval,
		scope: access.Admin, summary: "Reject an item",
		about: "A rejected new skill is archived."}, g.rejectInboxItem)
	g.inboxEditRoutes(path)
}

func (g *Gateway) inboxEditRoutes(path string) {
	handle(g, route{method: http.MethodPost, path: path + "/{item}/preview", id: "previewInboxItem", tag: tagApproval,
		scope: access.Read, summary: "Show an item with a text of yours, and the findings about it",
		about: "Nothing is changed."}, g.previewInboxItem)
	handle(g, route{method: http.MethodPost, path: path + "/{item}/edit", id: "editInboxItem", tag: tagApproval,
		scope: access.Admin, summary: "Approve an item with a text of yours",
		about: "The text is scanned again and becomes a version with the origin `user`. Blocking findings about it " +
			"need an override, as in an approval; a preview lists them. This also resolves a conflict with a newer " +
			"version, in which case the files stay those of the version in force."}, g.editInboxItem)
	handle(g, route{method: http.MethodPost, path: path + "/approve", id: "approveInboxItems", tag: tagApproval,
		scope: access.Admin, summary: "Approve up to 50 items without findings",
		about: "Each item is decided in a transaction of its own. Items with findings fail with `override_required`."},
		g.approveInboxItems)
	handle(g, route{method: http.MethodPost, path: path + "/reject", id: "rejectInboxItems", tag: tagApproval,
		scope: access.Admin, summary: "Reject up to 50 items"}, g.rejectInboxItems)
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

// InboxText is the text of a person in place of a proposed one.
type InboxText inbox.Text

func (g *Gateway) previewInboxItem(ctx context.Context, in *struct {
	InboxPath
	Body InboxText
}) (*bodyOf[InboxDetail], error) {
	d, err := g.ReviewInbox.Preview(ctx, person(ctx, IdempotencyKey{}), in.ID, inbox.Text(in.Body))
	return &bodyOf[InboxDetail]{InboxDetail(d)}, err
}

func (g *Gateway) editInboxItem(ctx context.Context, in *struct {
	InboxPath
	IdempotencyKey
	Body struct {
		SHA      string            `json:"sha" minLength:"1" maxLength:"64" doc:"The sha of the item as you have read it"`
		Text     InboxText         `json:"text"`
		Override approval.Override `json:"override,omitzero"`
	}
}) (*bodyOf[InboxOutcome], error) {
	out, err := g.ReviewInbox.Edit(ctx, person(ctx, in.IdempotencyKey), in.ID, inbox.Text(in.Body.Text),
		approval.Decision{SHA: in.Body.SHA, Override: in.Body.Override})
	return &bodyOf[InboxOutcome]{InboxOutcome(out)}, err
}

// InboxChoices are the items of a bulk decision.
type InboxChoices struct {
	Items []inbox.Choice `json:"items" minItems:"1" maxItems:"50"`
}

// InboxOutcomes are the results of a bulk decision, in the order of its items.
type InboxOutcomes struct {
	Results []InboxResult `json:"results"`
}

// InboxResult is the result for one item.
type InboxResult struct {
	ID      string        `json:"id"`
	State   string        `json:"state" enum:"approved,rejected,failed"`
	Title   string        `json:"title,omitempty" doc:"Name of the skill"`
	Version int           `json:"version,omitempty" doc:"The version in force"`
	Problem *edge.Problem `json:"problem,omitempty" doc:"Why it failed"`
}

func bulkOutcomes(all []inbox.BulkOutcome, err error) (*bodyOf[InboxOutcomes], error) {
	out := &bodyOf[InboxOutcomes]{InboxOutcomes{[]InboxResult{}}}
	for _, o := range all {
		r := InboxResult{ID: o.ID, State: o.State, Title: o.Title, Version: o.Version}
		if o.Err != nil {
			r.State, r.Problem = "failed", edge.ProblemOf(o.Err)
		}
		out.Body.Results = append(out.Body.Results, r)
	}
	return out, err
}

func (g *Gateway) approveInboxItems(ctx context.Context, in *struct {
	IdempotencyKey
	Body InboxChoices
}) (*bodyOf[InboxOutcomes], error) {
	return bulkOutcomes(g.ReviewInbox.ApproveAll(ctx, person(ctx, in.IdempotencyKey), in.Body.Items))
}

func (g *Gateway) rejectInboxItems(ctx context.Context, in *struct {
	IdempotencyKey
	Body InboxChoices
}) (*bodyOf[InboxOutcomes], error) {
	return bulkOutcomes(g.ReviewInbox.RejectAll(ctx, person(ctx, in.IdempotencyKey), in.Body.Items))
}
