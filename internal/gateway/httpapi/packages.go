package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cairn/internal/domain/fault"
	"cairn/internal/service/apikey"
)

// PackageQuery says in which form a package is wanted.
type PackageQuery struct {
	Style       string `query:"style" enum:"hyphen,underscore" doc:"How the folder and the name are written; as the package was made when empty"`
	IfNoneMatch string `header:"If-None-Match"`
}

type packageOutput struct{ Body func(huma.Context) }

func (g *Gateway) packageRoutes() {
	about := "A zip with SKILL.md, scripts and reference documents. The ETag is the SHA-256 of its bytes; a " +
		"version's package never changes."
	responses := func() map[string]*huma.Response {
		header := func(about string) *huma.Param { return &huma.Param{Schema: text(about)} }
		return map[string]*huma.Response{
			"200": {Description: "The package", Content: content("application/zip", binary("")),
				Headers: map[string]*huma.Param{"ETag": header("SHA-256 of the bytes"),
					"Content-Disposition": header("The file's name")}},
			"304": {Description: "It is the package of If-None-Match"}}
	}
	handle(g, route{method: http.MethodGet, path: "/v1/skills/{id}/package", id: "packageOfSkill", tag: tagSkills,
		scope: apikey.Read, responses: responses(),
		summary: "Download the package of the version in force", about: about},
		func(ctx context.Context, in *struct {
			SkillPath
			PackageQuery
		}) (*packageOutput, error) {
			return g.download(ctx, in.ID, 0, in.PackageQuery)
		})
	handle(g, route{method: http.MethodGet, path: "/v1/skills/{id}/versions/{n}/package", id: "packageOfVersion",
		tag: tagSkills, scope: apikey.Read, responses: responses(),
		summary: "Download the package of a version", about: about},
		func(ctx context.Context, in *struct {
			VersionPath
			PackageQuery
		}) (*packageOutput, error) {
			return g.download(ctx, in.ID, in.N, in.PackageQuery)
		})
}

// download reads a package, and checks that the store gave what was put there.
func (g *Gateway) download(ctx context.Context, ref string, number int, in PackageQuery) (*packageOutput, error) {
	id, err := g.skillNumber(ctx, ref)
	if err != nil {
		return nil, err
	}
	name, archive, v, err := g.Library.Package(ctx, workspace(ctx), id, number, in.Style)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(archive)
	if in.Style == "" && sum != v.PackageSHA {
		return nil, fault.New(fault.Internal,
			fmt.Sprintf("the package of skill %d, version %d is damaged", id, v.Number), "restore it from a copy")
	}
	tag := fmt.Sprintf(`"%x"`, sum)
	return &packageOutput{Body: func(c huma.Context) {
		c.SetHeader("ETag", tag)
		c.SetHeader("Cache-Control", "private, no-cache") // may be kept, and asked for again by its tag
		if matches(in.IfNoneMatch, tag) {
			c.SetStatus(http.StatusNotModified)
			return
		}
		c.SetHeader("Content-Type", "application/zip")
		c.SetHeader("Content-Length", fmt.Sprint(len(archive)))
		c.SetHeader("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
		_, w := humago.Unwrap(c)
		_, _ = bytes.NewReader(archive).WriteTo(w) // who does not read it has gone
	}}, nil
}

func matches(header, tag string) bool {
	for t := range strings.SplitSeq(header, ",") {
		if t = strings.TrimPrefix(strings.TrimSpace(t), "W/"); t == tag || t == "*" {
			return true
		}
	}
	return false
}
