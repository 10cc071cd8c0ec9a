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

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
)

// PackageQuery selects the form of a package.
type PackageQuery struct {
	Style       string `query:"style" enum:"hyphen,underscore" doc:"Separator in the names of the folder and the skill; default: as stored"`
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
			"304": {Description: "The package matches If-None-Match"}}
	}
	handle(g, route{method: http.MethodGet, path: "/v1/skills/{id}/package", id: "packageOfSkill", tag: tagSkills,
		scope: access.Read, responses: responses(),
		summary: "Download the package of the active version", about: about},
		func(ctx context.Context, in *struct {
			SkillPath
			PackageQuery
		}) (*packageOutput, error) {
			return g.download(ctx, in.ID, 0, in.PackageQuery)
		})
	handle(g, route{method: http.MethodGet, path: "/v1/skills/{id}/versions/{n}/package", id: "packageOfVersion",
		tag: tagSkills, scope: access.Read, responses: responses(),
		summary: "Download the package of a version", about: about},
		func(ctx context.Context, in *struct {
			VersionPath
			PackageQuery
		}) (*packageOutput, error) {
			return g.download(ctx, in.ID, in.N, in.PackageQuery)
		})
}

// download reads a package and verifies that the store returned the bytes that were stored.
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
		return nil, fault.New(
			fault.Internal,
			fmt.Sprintf(
				"damaged package of skill %d, version %d",
				id,
				v.Number,
			),
			"restore the object store from a backup",
		)
	}
	tag := fmt.Sprintf(`"%x"`, sum)
	return &packageOutput{Body: func(c huma.Context) {
		c.SetHeader("ETag", tag)
		c.SetHeader("Cache-Control", "private, no-cache") // clients may store it and must revalidate it by its ETag
		if matches(in.IfNoneMatch, tag) {
			c.SetStatus(http.StatusNotModified)
			return
		}
		c.SetHeader("Content-Type", "application/zip")
		c.SetHeader("Content-Length", fmt.Sprint(len(archive)))
		c.SetHeader("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
		_, w := humago.Unwrap(c)
		_, _ = bytes.NewReader(archive).WriteTo(w) // a write error means that the client has disconnected
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
