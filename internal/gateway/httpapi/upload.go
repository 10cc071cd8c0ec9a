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

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/service/apikey"
)

// UploadURL names a package to be fetched.
type UploadURL struct {
	URL string `json:"url" doc:"A public https address"`
}

// UploadFile is a form with a package.
type UploadFile struct {
	File string `json:"file" format:"binary" doc:"The zip"`
}

// UploadResult tells what became of an upload.
type UploadResult struct {
	Skill   SkillSummary `json:"skill"`
	Pending int64        `json:"pending,omitempty" doc:"The change that waits for approval, when the skill was there before"`
	Same    bool         `json:"same,omitempty" doc:"The skill says all of it already"`
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
		scope: apikey.Write, status: http.StatusAccepted,
		summary: "Take a skill package that was made elsewhere",
		about: "A zip as the body, as the field `file` of a form, or behind a URL. Its bytes are kept as they are. " +
			"A new skill is a candidate, a change of one that is there is pending: both wait for approval, and no " +
			"search for agents finds them before.",
		body: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/zip":     {Schema: binary("The package")},
			"multipart/form-data": {Schema: schemaOf[UploadFile](g)},
			"application/json":    {Schema: schemaOf[UploadURL](g)}}},
		responses: map[string]*huma.Response{
			"200": {Description: "The skill says all of it already", Content: uploaded},
			"202": {Description: "It waits for approval", Content: uploaded}},
	}, g.upload)
}

// importOrigin is the origin of what was uploaded; no caller can set another.
const importOrigin = "import"

func (g *Gateway) upload(ctx context.Context, in *uploadInput) (*uploadOutput, error) {
	archive, err := g.archive(ctx, in)
	if err != nil {
		return nil, err
	}
	const trusted = false // whoever sends it: approving is a step of its own
	made, err := g.Library.Import(ctx, workspace(ctx), archive, importOrigin, trusted)
	if err != nil {
		return nil, err
	}
	out := &uploadOutput{http.StatusAccepted, UploadResult{g.summary(made.Head), made.Pending, made.Same}}
	if made.Same {
		out.Status = http.StatusOK
	}
	return out, nil
}

// archive finds the zip in the body, in its form, or behind its URL.
func (g *Gateway) archive(ctx context.Context, in *uploadInput) ([]byte, error) {
	kind, parameters, err := mime.ParseMediaType(in.ContentType)
	if err != nil && in.ContentType != "" {
		return nil, fault.Wrap(err, fault.InvalidArgument,
			fmt.Sprintf("the Content-Type %q cannot be read", in.ContentType), "")
	}
	switch kind {
	case "multipart/form-data":
		return fileOf(in.RawBody, parameters["boundary"])
	case "application/json":
		var named UploadURL
		if err := json.Unmarshal(in.RawBody, &named); err != nil || named.URL == "" {
			return nil, fault.New(fault.InvalidArgument, "the body names no url",
				`send {"url": "https://…"}, or the zip itself as application/zip`)
		}
		return g.Fetch(ctx, named.URL)
	}
	return in.RawBody, nil // library.Import tells whether it is a zip
}

// fileOf reads the field `file` of a form, or its only file.
func fileOf(body []byte, boundary string) ([]byte, error) {
	const hint = "send the zip as the form's field `file`"
	form := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil, fault.New(fault.InvalidArgument, "the form has no file", hint)
		}
		if err != nil {
			return nil, fault.Wrap(err, fault.InvalidArgument, "the form cannot be read", hint)
		}
		if part.FormName() != "file" && part.FileName() == "" {
			continue
		}
		archive, err := io.ReadAll(io.LimitReader(part, skill.MaxPackage+1))
		if err != nil {
			return nil, fault.Wrap(err, fault.InvalidArgument, "the form cannot be read", hint)
		}
		return archive, nil
	}
}
