package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/skill"
	"cairn/internal/service/library"
)

// SkillSummary is a skill in a list.
type SkillSummary struct {
	skill.Head
	Links SkillLinks `json:"links"`
}

// SkillLinks holds the URLs of a skill or of one of its versions.
type SkillLinks struct {
	Self     string `json:"self"`
	Versions string `json:"versions"`
	Package  string `json:"package" doc:"A zip archive that other agents can install"`
}

// SkillList is a page of skills, by category and then by name.
type SkillList struct {
	Skills     []SkillSummary `json:"skills"`
	NextCursor string         `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last page"`
}

// SkillDetail is a skill with its active version.
type SkillDetail struct {
	SkillSummary
	Content
}

// SkillPath is the path parameter that names a skill by its ID or name.
type SkillPath struct {
	ID string `path:"id" maxLength:"100" doc:"The skill's ID or name"`
}

func (g *Gateway) skillRoutes() {
	handle(g, route{method: http.MethodGet, path: "/v1/skills", id: "listSkills", tag: tagSkills, scope: access.Read,
		summary: "List skills by category and name",
		about: "By default, the list has active, candidate and draft skills. q selects skills whose name or " +
			"description contains it; to search by meaning, use /v1/search."}, g.listSkills)
	handle(g, route{method: http.MethodGet, path: "/v1/skills/{id}", id: "showSkill", tag: tagSkills,
		scope: access.Read, summary: "Get a skill with its body and files",
		about: "With view=memory, the response has the form of a MemOS memory item.",
		responses: map[string]*huma.Response{
			"200": {Description: "OK", Content: content("application/json", &huma.Schema{
				OneOf: []*huma.Schema{schemaOf[SkillDetail](g), schemaOf[skill.MemoryItem](g)}})}},
	}, g.showSkill)
}

func (g *Gateway) listSkills(ctx context.Context, in *struct {
	Status string `query:"status" enum:"candidate,draft,active,stale,archived,quarantined,all"`
	Q      string `query:"q" maxLength:"200"`
	Limit  int    `query:"limit" default:"100" minimum:"1" maximum:"200"`
	Cursor string `query:"cursor" maxLength:"1000" doc:"next_cursor of the previous page"`
}) (*bodyOf[SkillList], error) {
	filter := library.Filter{Holds: in.Q, Limit: in.Limit, Cursor: in.Cursor}
	switch in.Status {
	case "":
	case "all":
		filter.Statuses = skill.Statuses()
	default:
		filter.Statuses = []skill.Status{skill.Status(in.Status)}
	}
	page, err := g.Library.List(ctx, workspace(ctx), filter)
	if err != nil {
		return nil, err
	}
	out := SkillList{Skills: make([]SkillSummary, len(page.Skills)), NextCursor: page.Next}
	for i, h := range page.Skills {
		out.Skills[i] = g.summary(h)
	}
	return &bodyOf[SkillList]{out}, nil
}

func (g *Gateway) summary(h skill.Head) SkillSummary {
	self := g.link("/v1/skills/%d", h.ID)
	return SkillSummary{Head: h, Links: SkillLinks{Self: self, Versions: self + "/versions",
		Package: self + "/package"}}
}

func (g *Gateway) showSkill(ctx context.Context, in *struct {
	SkillPath
	View string `query:"view" enum:"skill,memory"`
}) (*bodyOf[any], error) {
	head, v, err := g.version(ctx, in.ID, 0)
	if err != nil {
		return nil, err
	}
	if in.View == "memory" {
		item, err := g.memory(ctx, head, v)
		return &bodyOf[any]{item}, err
	}
	return &bodyOf[any]{SkillDetail{g.summary(head), g.contentOf(v)}}, nil
}

// version reads a skill and one of its versions; 0 means the active one.
func (g *Gateway) version(ctx context.Context, ref string, number int) (skill.Head, skill.Version, error) {
	return g.Library.Find(ctx, workspace(ctx), ref, number)
}

// skillNumber returns a skill's ID. It does not check that a numeric ID exists.
func (g *Gateway) skillNumber(ctx context.Context, ref string) (id int64, err error) {
	if id, err = strconv.ParseInt(ref, 10, 64); err == nil && id > 0 {
		return id, nil
	}
	return g.Library.Number(ctx, workspace(ctx), ref)
}

// memory returns a skill in the form of MemOS.
func (g *Gateway) memory(ctx context.Context, head skill.Head, v skill.Version) (skill.MemoryItem, error) {
	p := skill.ProjectedMetadata{ID: fmt.Sprint(head.ID), Archived: head.Status == skill.Archived,
		Uploaded: head.Origin == "import", Version: v.Number,
		UserID: asking(ctx).Workspace.Name, URL: g.link("/v1/skills/%d/versions/%d/package", head.ID, v.Number),
		CreatedAt: head.CreatedAt, UpdatedAt: v.CreatedAt, Embedding: []float32{}}
	var err error
	p.Sources, p.SessionID, err = g.Conversations.Sources(ctx, workspace(ctx), v.Sources)
	return skill.ProjectMemOS(v.Document(), v.Files, p), err
}
