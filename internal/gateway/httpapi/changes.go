package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/domain/access"
	"cairn/internal/domain/audit"
	"cairn/internal/domain/skill"
	"cairn/internal/service/library"
)

func (g *Gateway) changeRoutes() {
	handle(g, route{method: http.MethodPost, path: "/v1/skills/{id}/rollback", id: "rollbackSkill", tag: tagSkills,
		scope: access.Admin, summary: "Roll back a skill to an older version"}, g.rollback)
	handle(g, route{method: http.MethodPost, path: "/v1/skills/{id}/pin", id: "pinSkill", tag: tagSkills,
		scope: access.Admin, summary: "Pin a skill, so that only users change it, or unpin it"}, g.pin)
	handle(g, route{method: http.MethodPost, path: "/v1/skills/{id}/uses", id: "useSkill", tag: tagSkills,
		scope: access.Write, summary: "Record the use of a skill and its outcome",
		about: "Calls with the same use_id count once. You can send the outcome in a later call, and change it. It " +
			"updates the skill's reliability, and may withdraw a version that fails."}, g.use)
	handle(g, route{method: http.MethodPut, path: "/v1/skills/{id}/vote", id: "voteSkill", tag: tagSkills,
		scope: access.Write, summary: "Rate the active version of a skill",
		about: "A key has one vote on a version; a later one replaces it. A vote counts like the outcome of a use."},
		g.vote)
	handle(g, route{method: http.MethodPost, path: "/v1/skills/{id}/restore", id: "restoreSkill", tag: tagSkills,
		scope: access.Admin, summary: "Restore an archived, quarantined or deleted skill",
		about: "You can undo a delete within the setting `limits.undo_days` (default 7). Use " +
			"the skill's former ID or name."}, g.restore)
	for _, c := range []struct {
		verb, id, tag, summary string
		scope                  access.Scope
		do                     func(l *library.Library, ctx context.Context, ws, id int64) (skill.Head, error)
	}{
		{"archive", "archiveSkill", tagSkills, "Archive a skill; it keeps its name and history",
			access.Admin, (*library.Library).Archive},
		{"adopt", "adoptSkill", tagSkills, "Allow agents to change a skill", access.Admin,
			func(l *library.Library, ctx context.Context, ws, id int64) (skill.Head, error) {
				return l.Manage(ctx, ws, id, true)
			}},
		{"release", "releaseSkill", tagSkills, "Stop agents from changing a skill", access.Admin,
			func(l *library.Library, ctx context.Context, ws, id int64) (skill.Head, error) {
				return l.Manage(ctx, ws, id, false)
			}},
		{"trust", "trustSkill", tagApproval, "Mark untrusted text in a skill as reviewed", access.Admin,
			(*library.Library).Trust},
	} {
		handle(g, route{method: http.MethodPost, path: "/v1/skills/{id}/" + c.verb, id: c.id, tag: c.tag,
			scope: c.scope, summary: c.summary},
			func(ctx context.Context, in *SkillPath) (*bodyOf[SkillSummary], error) {
				return g.changed(ctx, in.ID, func(ws, id int64) (skill.Head, error) {
					return c.do(g.Library, ctx, ws, id)
				})
			})
	}
}

// changed applies a change to a skill and returns the new head.
func (g *Gateway) changed(ctx context.Context, ref string,
	change func(ws, id int64) (skill.Head, error)) (*bodyOf[SkillSummary], error) {
	id, err := g.skillNumber(ctx, ref)
	if err != nil {
		return nil, err
	}
	head, err := change(workspace(ctx), id)
	return &bodyOf[SkillSummary]{g.summary(head)}, err
}

func (g *Gateway) restore(ctx context.Context, in *SkillPath) (*bodyOf[SkillSummary], error) {
	head, err := g.Library.RestoreNamed(ctx, workspace(ctx), in.ID)
	return &bodyOf[SkillSummary]{g.summary(head)}, err
}

func (g *Gateway) rollback(ctx context.Context, in *struct {
	SkillPath
	Body struct {
		To   int `json:"to" minimum:"1" maximum:"2147483647" doc:"The version to restore"`
		Base int `json:"base,omitempty" minimum:"0" maximum:"2147483647" doc:"The active version that the caller has read; if another version is active, the request fails with a conflict"`
	}
}) (*bodyOf[SkillSummary], error) {
	return g.changed(ctx, in.ID, func(ws, id int64) (skill.Head, error) {
		return g.Library.Rollback(ctx, ws, id, in.Body.To, in.Body.Base)
	})
}

func (g *Gateway) pin(ctx context.Context, in *struct {
	SkillPath
	Body struct {
		Pinned bool `json:"pinned"`
	}
}) (*bodyOf[SkillSummary], error) {
	return g.changed(ctx, in.ID, func(ws, id int64) (skill.Head, error) {
		return g.Library.Pin(ctx, ws, id, in.Body.Pinned)
	})
}

// VoteResult is the effect of a vote.
type VoteResult struct {
	Voter string `json:"voter" doc:"Who voted: key/ID of the API key"`
	library.UseEffect
}

func (g *Gateway) vote(ctx context.Context, in *struct {
	SkillPath
	Body struct {
		Vote string `json:"vote" enum:"up,down,none" doc:"none withdraws the vote"`
	}
}) (*bodyOf[VoteResult], error) {
	id, err := g.skillNumber(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	voter := audit.From(ctx).Voter()
	effect, err := g.Library.Vote(ctx, workspace(ctx), id, voter, library.Opinions[in.Body.Vote])
	return &bodyOf[VoteResult]{VoteResult{voter, effect}}, err
}

func (g *Gateway) use(ctx context.Context, in *struct {
	SkillPath
	Body struct {
		ID      string `json:"use_id" minLength:"1" maxLength:"200" doc:"The caller's ID of this use"`
		Version int    `json:"version,omitempty" minimum:"1" maximum:"2147483647" doc:"Version that was used; default: the active version"`
		Outcome string `json:"outcome,omitempty" enum:"pass,fail"`
	}
}) (*bodyOf[SkillSummary], error) {
	_, v, err := g.version(ctx, in.ID, in.Body.Version) // the skill and the version must exist
	if err != nil {
		return nil, err
	}
	if err := g.Library.RecordUse(ctx, workspace(ctx),
		skill.Use{Skill: v.SkillID, ID: in.Body.ID, Version: v.Number, Outcome: in.Body.Outcome}); err != nil {
		return nil, err
	}
	head, _, err := g.version(ctx, in.ID, 0)
	return &bodyOf[SkillSummary]{g.summary(head)}, err
}
