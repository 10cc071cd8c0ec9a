package httpapi

import (
	"bytes"
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/intake"
)

// ImportList is a page of imports, the latest first.
type ImportList struct {
	Imports []conversation.Import `json:"imports"`
	Next    int64                 `json:"next,omitempty" doc:"Value of before for the next page; absent on the last page"`
}

type importInput struct {
	Name         string `query:"name" maxLength:"200" doc:"Name of the file; some formats are recognized by it"`
	Format       string `query:"format" maxLength:"40" doc:"Format of the file, such as anthropic or claude-code; default: detected"`
	AllowUnknown bool   `query:"allow_unknown" doc:"Accept a file of which more than 5 % has an unknown kind"`
	Distill      bool   `query:"distill" doc:"Also distill the conversations into skills"`
	Outcome      string `query:"outcome" enum:"success,failure,unknown" doc:"How the conversations ended, only with distill; default: what the file states"`
	RawBody      []byte
}

type importID struct {
	ID int64 `path:"id" minimum:"1"`
}

func (g *Gateway) importRoutes() {
	handle(g, route{method: http.MethodPost, path: "/v1/imports", id: "importSessions", tag: tagDistill,
		scope: access.Write, status: http.StatusAccepted,
		summary: "Import session files of other agents",
		about: "Takes a session file in any of the formats that `cairn formats` lists, also compressed with gzip or " +
			"zstd, or a zip of such files. Everything is read first: a damaged file is rejected, and nothing is " +
			"stored. The response follows when the files are stored durably; their conversations follow within " +
			"seconds. A file that the workspace has already is not imported again.",
		body: &huma.RequestBody{Required: true, Content: content("application/octet-stream", binary("The file"))},
	}, g.importSessions)
	handle(g, route{method: http.MethodGet, path: "/v1/imports", id: "listImports", tag: tagDistill,
		scope: access.Read, summary: "List imported session files"}, g.listImports)
	handle(g, route{method: http.MethodGet, path: "/v1/imports/{id}", id: "import", tag: tagDistill,
		scope: access.Read, summary: "Get an imported session file"}, g.oneImport)
	handle(g, route{
		method:  http.MethodPost,
		path:    "/v1/imports/{id}/reparse",
		id:      "reparseImport",
		tag:     tagDistill,
		scope:   access.Write,
		status:  http.StatusAccepted,
		bytes:   smallBody,
		summary: "Read an imported file again",
		about: "Reads the stored file with the formats that this version of Cairn knows. Conversations that are read " +
			"as before are not stored again. Those that are read differently are stored in addition.",
	}, g.reparseImport)
}

func (g *Gateway) importSessions(ctx context.Context, in *importInput) (*bodyOf[intake.ImportedFiles], error) {
	out, err := g.Imports.Import(ctx, intake.Upload{Workspace: workspace(ctx), Name: in.Name,
		Content: bytes.NewReader(in.RawBody), Distill: in.Distill, Outcome: transcript.Verdict(in.Outcome),
		Options: intake.Options{Format: in.Format, AllowUnknown: in.AllowUnknown}})
	if err != nil {
		return nil, err
	}
	return &bodyOf[intake.ImportedFiles]{out}, nil
}

func (g *Gateway) listImports(ctx context.Context, in *struct {
	Before int64 `query:"before" minimum:"0" doc:"Only imports before this ID: the value of next of the previous page"`
	Limit  int   `query:"limit" default:"50" minimum:"1" maximum:"500"`
}) (*bodyOf[ImportList], error) {
	all, err := g.Imports.List(ctx, workspace(ctx), in.Before, in.Limit)
	if err != nil {
		return nil, err
	}
	out := ImportList{Imports: append([]conversation.Import{}, all...)}
	if len(all) == in.Limit {
		out.Next = all[len(all)-1].ID
	}
	return &bodyOf[ImportList]{out}, nil
}

func (g *Gateway) oneImport(ctx context.Context, in *importID) (*bodyOf[conversation.Import], error) {
	one, err := g.Imports.Get(ctx, workspace(ctx), in.ID)
	return &bodyOf[conversation.Import]{one}, err
}

func (g *Gateway) reparseImport(ctx context.Context, in *importID) (*bodyOf[conversation.Import], error) {
	one, err := g.Imports.Reparse(ctx, workspace(ctx), in.ID, 0)
	return &bodyOf[conversation.Import]{one}, err
}
