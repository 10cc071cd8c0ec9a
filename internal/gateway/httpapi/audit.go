package httpapi

import (
	"context"
	"net/http"
	"strconv"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
)

// AuditEvent is one act.
type AuditEvent audit.Event

// AuditEvents holds audit events, the latest first.
type AuditEvents struct {
	Events     []AuditEvent `json:"events"`
	NextCursor string       `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

func (g *Gateway) auditRoutes() {
	handle(g, route{method: http.MethodGet, path: "/v1/audit", id: "listAuditEvents", tag: tagAudit,
		scope: access.Admin, summary: "List audit events, the latest first",
		about: "Who created keys, changed settings, approved, restored, imported, exported or erased data of the " +
			"workspace. Events cannot be changed, and only the erasure of the workspace deletes them."}, g.listAudit)
}

func (g *Gateway) listAudit(ctx context.Context, in *struct {
	Action string `query:"action" doc:"Only this action, such as key.create"`
	Since  string `query:"since" doc:"Earliest time, included: a date in UTC, or a time such as 2027-01-31T09:00:00Z"`
	Until  string `query:"until" doc:"Latest time, not included"`
	Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"500"`
	Cursor string `query:"cursor" doc:"next_cursor of the previous page"`
}) (*bodyOf[AuditEvents], error) {
	f, err := audit.NewFilter(in.Action, in.Since, in.Until)
	if err != nil {
		return nil, err
	}
	if f.Cursor, err = cursor(in.Cursor, 0, 64); err != nil {
		return nil, err
	}
	events, err := g.Audit.List(ctx, workspace(ctx), f, in.Limit+1)
	if err != nil {
		return nil, err
	}
	out := &bodyOf[AuditEvents]{AuditEvents{Events: []AuditEvent{}}}
	if len(events) > in.Limit {
		events = events[:in.Limit]
		out.Body.NextCursor = strconv.FormatInt(events[in.Limit-1].ID, 10)
	}
	for _, e := range events {
		out.Body.Events = append(out.Body.Events, AuditEvent(e))
	}
	return out, nil
}
