package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
)

// UploadURL names a package to download.
type UploadURL struct {
	URL string `json:"url" doc:"A public https address"`
}

// UploadFile is a form with a package.
type UploadFile struct {
	File string `json:"file" format:"binary" doc:"The zip"`
}

// UploadResult is the result of an upload.
type UploadResult struct {
	Skill   SkillSummary `json:"skill"`
	Pending int64        `json:"pending,omitempty" doc:"Number of the pending change, if the skill existed; it is in the inbox under c and this number"`
	Same    bool         `json:"same,omitempty" doc:"True if the skill already has this content"`
}

type uploadInput struct {
	ContentType string `header:"Content-Type"`
	RawBody     []byte
}

type uploadOutput struct {
	Status int
	Body   UploadResult
}

func (g *Gateway) uploadRoutes() {
	uploaded := content("application/json", schemaOf[UploadResult](g))
	handle(g, route{method: http.MethodPost, path: "/v1/skills/upload", id: "uploadSkill", tag: tagSkills,
		scope: access.Write, status: http.StatusAccepted,
		summary: "Import a skill package",
		about: "Send the zip as the body, as the form field `file`, or as a URL. Its bytes are stored unchanged. A " +
			"new skill becomes a candidate. A change to an existing skill becomes a pending change. Both need " +
			"approval; until then, no search by agents finds them.",
		body: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/zip":     {Schema: binary("The package")},
			"multipart/form-data": {Schema: schemaOf[UploadFile](g)},
			"application/json":    {Schema: schemaOf[UploadURL](g)}}},
		responses: map[string]*huma.Response{
			"200": {Description: "The skill already has this content", Content: uploaded},
			"202": {Description: "The package needs approval", Content: uploaded}},
	}, g.upload)
}

// importOrigin is the origin of uploaded packages. Callers cannot set another origin.
const importOrigin = "import"

func (g *Gateway) upload(ctx context.Context, in *uploadInput) (*uploadOutput, error) {
	archive, err := g.archive(ctx, in)
	if err != nil {
		return nil, err
	}
	// No caller skips the approval, which is a separate step.
	made, err := g.Library.Import(ctx, workspace(ctx), archive, importOrigin, nil)
	if err != nil {
		return nil, err
	}
	out := &uploadOutput{http.StatusAccepted, UploadResult{g.summary(made.Head), made.Pending, made.Same}}
	if made.Same {
		out.Status = http.StatusOK
	}
	return out, nil
}

// archive returns the zip from the body, its form, or its URL.
func (g *Gateway) archive(ctx context.Context, in *uploadInput) ([]byte, error) {
	kind, parameters, err := mime.ParseMediaType(in.ContentType)
	if err != nil && in.ContentType != "" {
		return nil, fault.Wrap(err, fault.InvalidArgument, fmt.Sprintf("invalid Content-Type %q", in.ContentType), "")
	}
	switch kind {
	case "multipart/form-data":
		return fileOf(in.RawBody, parameters["boundary"])
	case "application/json":
		var named UploadURL
		if err := json.Unmarshal(in.RawBody, &named); err != nil || named.URL == "" {
			return nil, fault.New(fault.InvalidArgument, "missing url in the body",
				`send {"url": "https://…"}, or the zip itself as application/zip`)
		}
		return g.Fetch(ctx, named.URL)
	}
	return in.RawBody, nil // library.Import checks whether it is a zip
}

// fileOf returns the form field `file`, or the form's only file.
func fileOf(body []byte, boundary string) ([]byte, error) {
	const hint = "send the zip in the form field `file`"
	form := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil, fault.New(fault.InvalidArgument, "missing file in the form", hint)
		}
		if err != nil {
			return nil, fault.Wrap(err, fault.InvalidArgument, "invalid form", hint)
		}
		if part.FormName() != "file" && part.FileName() == "" {
			continue
		}
		archive, err := io.ReadAll(io.LimitReader(part, skill.MaxPackage+1))
		if err != nil {
			return nil, fault.Wrap(err, fault.InvalidArgument, "invalid form", hint)
		}
		return archive, nil
	}
}
