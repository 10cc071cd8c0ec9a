package httpapi

import (
	"context"
	"net/http"
	"time"

	"cairn/internal/service/apikey"
	"cairn/internal/service/library"
)

// PendingChange is a change of a skill that needs approval by a user. Until then the skill
// stays unchanged.
type PendingChange struct {
	ID          int64     `json:"id"`
	SkillID     int64     `json:"skill_id"`
	Skill       string    `json:"skill"`
	Base        int       `json:"base_version" doc:"The version that the change is based on"`
	Description string    `json:"description"`
	Op          string    `json:"op" doc:"update, patch, rename, archive or delete"`
	Gist        string    `json:"gist" doc:"One-line summary of the change"`
	Reason      string    `json:"reason" doc:"Why the change needs approval"`
	Origin      string    `json:"origin"`
	State       string    `json:"state" enum:"pending,expired" doc:"An expired change can no longer be approved"`
	CreatedAt   time.Time `json:"created_at"`
	ExpiresAt   time.Time `json:"expires_at"`
	Content
}

// PendingList holds the pending changes, the oldest first.
type PendingList struct {
	Pending []PendingChange `json:"pending"`
}

type pendingInput struct {
	ID int64 `path:"id" minimum:"1" doc:"The change's ID"`
}

func (g *Gateway) pendingRoutes() {
	handle(g, route{method: http.MethodGet, path: "/v1/pending", id: "listPending", tag: tagApproval,
		scope: apikey.Read, summary: "List pending changes, the oldest first"}, g.listPending)
	handle(g, route{method: http.MethodPost, path: "/v1/pending/{id}/approve", id: "approveChange", tag: tagApproval,
		scope:   apikey.Admin,
		summary: "Approve a pending change", about: "If the skill has a newer version, the " +
			"change is merged with it. If both changed the same lines, the request fails with a conflict."},
		g.approveChange)
	handle(g, route{method: http.MethodPost, path: "/v1/pending/{id}/reject", id: "rejectChange", tag: tagApproval,
		scope: apikey.Admin, status: http.StatusNoContent, summary: "Reject a pending change"}, g.rejectChange)
}

func (g *Gateway) listPending(ctx context.Context, in *struct {
	Limit int `query:"limit" default:"100" minimum:"1" maximum:"1000"`
}) (*bodyOf[PendingList], error) {
	changes, err := g.Library.PendingList(ctx, workspace(ctx), in.Limit)
	out := &bodyOf[PendingList]{PendingList{Pending: []PendingChange{}}}
	for _, p := range changes {
		out.Body.Pending = append(out.Body.Pending, g.pendingChange(p))
	}
	return out, err
}

func (g *Gateway) pendingChange(p library.Pending) PendingChange {
	return PendingChange{ID: p.ID, SkillID: p.Skill, Skill: p.Name, Base: p.Base, Description: p.Version.Description,
		Op: p.Op, Gist: p.Gist, Reason: p.Reason, Origin: p.Origin, State: p.State, CreatedAt: p.CreatedAt,
		ExpiresAt: p.ExpiresAt,
		Content:   g.contentOf(p.Version)}
}

func (g *Gateway) approveChange(ctx context.Context, in *pendingInput) (*bodyOf[SkillSummary], error) {
	head, err := g.Library.ApproveChange(ctx, workspace(ctx), in.ID)
	return &bodyOf[SkillSummary]{g.summary(head)}, err
}

func (g *Gateway) rejectChange(ctx context.Context, in *pendingInput) (*struct{}, error) {
	return nil, g.Library.RejectChange(ctx, workspace(ctx), in.ID)
}
