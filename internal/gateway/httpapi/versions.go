package httpapi

import (
	"context"
	"encoding/hex"
	"net/http"
	"time"

	"cairn/internal/domain/access"
	"cairn/internal/domain/skill"
)

// Content is the content of a version with its sources.
type Content struct {
	DisplayName   string         `json:"display_name"`
	Body          string         `json:"body" doc:"Markdown after the front matter"`
	SkillMD       string         `json:"skill_md" doc:"SKILL.md as in a package"`
	Files         []ContentFile  `json:"files"`
	Sources       []skill.Source `json:"sources" doc:"The messages that are the evidence"`
	Run           string         `json:"run,omitempty" doc:"ID of the run that created the version"`
	Model         string         `json:"model,omitempty"`
	ChangeSummary string         `json:"change_summary"`
	Violations    []string       `json:"violations,omitempty"`
	Risk          []string       `json:"risk,omitempty" doc:"Findings of the security scan"`
	Quality       *skill.Quality `json:"quality" doc:"A model's score from 0 to 10 with its reason; null if there is none"`
	Extra         []skill.Extra  `json:"extra,omitempty" doc:"Other files in the package"`
	Redactions    int            `json:"redactions,omitempty" doc:"Number of secrets that were removed before the model call"`
	PackageSHA256 string         `json:"package_sha256"`
}

// ContentFile is a script or a reference document.
type ContentFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// VersionDetail is one complete, immutable version of a skill.
type VersionDetail struct {
	SkillID     int64     `json:"skill_id"`
	Name        string    `json:"name"`
	Version     int       `json:"version"`
	Base        int       `json:"base_version"`
	Description string    `json:"description"`
	Lang        string    `json:"lang"`
	Origin      string    `json:"origin"`
	Degraded    []string  `json:"degraded,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	Content
	Links SkillLinks `json:"links"`
}

// VersionList holds a skill's versions, the latest first.
type VersionList struct {
	Versions []skill.VersionInfo `json:"versions"`
}

// Diff describes the changes between two versions.
type Diff struct {
	Diff string `json:"diff" doc:"Unified diff of SKILL.md and all files; empty if the versions are equal"`
}

// VersionPath is a skill at a version.
type VersionPath struct {
	SkillPath
	N int `path:"n" minimum:"1" maximum:"2147483647" doc:"The version's number"`
}

func (g *Gateway) versionRoutes() {
	handle(g, route{method: http.MethodGet, path: "/v1/skills/{id}/versions", id: "listVersions", tag: tagSkills,
		scope: access.Read, summary: "List a skill's versions, the latest first"}, g.listVersions)
	handle(g, route{method: http.MethodGet, path: "/v1/skills/{id}/versions/{n}", id: "showVersion", tag: tagSkills,
		scope: access.Read, summary: "Get a version of a skill"}, g.showVersion)
	handle(g, route{method: http.MethodGet, path: "/v1/skills/{id}/diff", id: "diffVersions", tag: tagSkills,
		scope: access.Read, summary: "Compare two versions of a skill",
		about: "to defaults to the active version, and from to the version that to is based on."}, g.diff)
}

func (g *Gateway) contentOf(v skill.Version) Content {
	c := Content{DisplayName: v.DisplayName, Body: v.Body,
		SkillMD: string(skill.Compose(v.Name, v.Description, []byte(v.Body),
			skill.RenderOptions{NameStyle: g.Options.NameStyle})),
		Files: []ContentFile{}, Sources: append([]skill.Source{}, v.Sources...), Run: v.Run, Model: v.Model,
		ChangeSummary: v.ChangeSummary,
		Violations:    v.Violations, Risk: v.Risk, Redactions: v.Redactions, Quality: v.Quality, Extra: v.Extra,
		PackageSHA256: hex.EncodeToString(v.PackageSHA[:])}
	for _, f := range v.Files {
		c.Files = append(c.Files, ContentFile{f.Path, f.Content})
	}
	return c
}

func (g *Gateway) listVersions(ctx context.Context, in *struct {
	SkillPath
	Limit int `query:"limit" default:"100" minimum:"1" maximum:"1000"`
}) (*bodyOf[VersionList], error) {
	id, err := g.skillNumber(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	versions, err := g.Library.History(ctx, workspace(ctx), id, in.Limit)
	return &bodyOf[VersionList]{VersionList{versions}}, err
}

func (g *Gateway) showVersion(ctx context.Context, in *VersionPath) (*bodyOf[VersionDetail], error) {
	head, v, err := g.version(ctx, in.ID, in.N)
	if err != nil {
		return nil, err
	}
	self := g.link("/v1/skills/%d/versions/%d", head.ID, v.Number)
	return &bodyOf[VersionDetail]{VersionDetail{SkillID: head.ID, Name: v.Name, Version: v.Number, Base: v.Base,
		Description: v.Description, Lang: v.Lang, Origin: v.Origin,
		Degraded: v.Degraded, CreatedAt: v.CreatedAt, Content: g.contentOf(v),
		Links: SkillLinks{Self: self, Versions: g.link("/v1/skills/%d/versions", head.ID),
			Package: self + "/package"}}}, nil
}

func (g *Gateway) diff(ctx context.Context, in *struct {
	SkillPath
	From int `query:"from" minimum:"0" maximum:"2147483647"`
	To   int `query:"to" minimum:"0" maximum:"2147483647"`
}) (*bodyOf[Diff], error) {
	id, err := g.skillNumber(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	d, err := g.Library.Diff(ctx, workspace(ctx), id, in.From, in.To)
	return &bodyOf[Diff]{Diff{d}}, err
}
