package httpapi

import (
	"context"
	"net/http"

	"cairn/internal/domain/skill"
	"cairn/internal/service/apikey"
	"cairn/internal/service/library"
)

func (g *Gateway) changeRoutes() {
	handle(g, route{method: http.MethodPost, path: "/v1/skills/{id}/rollback", id: "rollbackSkill", tag: tagSkills,
		scope: apikey.Write, summary: "Make a new version that says what an old one said"}, g.rollback)
	handle(g, route{method: http.MethodPost, path: "/v1/skills/{id}/pin", id: "pinSkill", tag: tagSkills,
		scope: apikey.Write, summary: "Freeze a skill against every change that no person makes, or let it go"}, g.pin)
	handle(g, route{method: http.MethodPost, path: "/v1/skills/{id}/uses", id: "useSkill", tag: tagSkills,
		scope: apikey.Write, summary: "Record that a skill was used, and how it went",
		about: "The same use_id counts once, so a retry does no harm; the outcome may follow in a later call and " +
			"moves the skill's reliability."}, g.use)
	handle(g, route{method: http.MethodPost, path: "/v1/skills/{id}/restore", id: "restoreSkill", tag: tagSkills,
		scope: apikey.Write, summary: "Put a skill back into use that was archived, quarantined or deleted",
		about: "A delete can be taken back for the workspace's `limits.undo_days`, seven unless it chose others, by " +
			"the number or the name that the skill had."}, g.restore)
	for _, c := range []struct {
		verb, id, tag, summary string
		scope                  apikey.Scope
		do                     func(l *library.Library, ctx context.Context, ws, id int64) (skill.Head, error)
	}{
		{"archive", "archiveSkill", tagSkills, "Take a skill out of use; it keeps its name and its history",
			apikey.Write, (*library.Library).Archive},
		{"adopt", "adoptSkill", tagSkills, "Let autonomous writers change a skill", apikey.Write,
			func(l *library.Library, ctx context.Context, ws, id int64) (skill.Head, error) {
				return l.Manage(ctx, ws, id, true)
			}},
		{"release", "releaseSkill", tagSkills, "Take a skill from the autonomous writers", apikey.Write,
			func(l *library.Library, ctx context.Context, ws, id int64) (skill.Head, error) {
				return l.Manage(ctx, ws, id, false)
			}},
		{"trust", "trustSkill", tagApproval, "Say that untrusted text in a skill has been looked at", apikey.Admin,
			(*library.Library).Trust},
		{"approve", "approveSkill", tagApproval, "Make a candidate or a draft active", apikey.Admin,
			(*library.Library).Approve},
		{"reject", "rejectSkill", tagApproval, "Archive a candidate or a draft", apikey.Admin,
			(*library.Library).Reject},
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

// changed answers with the head that a change has left.
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
		To   int `json:"to" minimum:"1" maximum:"2147483647" doc:"The version whose text is wanted back"`
		Base int `json:"base,omitempty" minimum:"0" maximum:"2147483647" doc:"The version in force as the caller has seen it; it is a conflict when it is another by now"`
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

func (g *Gateway) use(ctx context.Context, in *struct {
	SkillPath
	Body struct {
		ID      string `json:"use_id" minLength:"1" maxLength:"200" doc:"The caller's id of this use"`
		Version int    `json:"version,omitempty" minimum:"1" maximum:"2147483647" doc:"That was used; the one in force when missing"`
		Outcome string `json:"outcome,omitempty" enum:"pass,fail"`
	}
}) (*bodyOf[SkillSummary], error) {
	_, v, err := g.version(ctx, in.ID, in.Body.Version) // the skill and the version must be there
	if err != nil {
		return nil, err
	}
	if err := g.Library.RecordUse(ctx, workspace(ctx),
		library.Use{Skill: v.SkillID, ID: in.Body.ID, Version: v.Number, Outcome: in.Body.Outcome}); err != nil {
		return nil, err
	}
	head, _, err := g.version(ctx, in.ID, 0)
	return &bodyOf[SkillSummary]{g.summary(head)}, err
}
