package httpapi

import (
	"context"
	"io"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/edge"
	"cairn/internal/service/dump"
)

// lineText is the media type of JSON lines.
const lineText = "application/x-ndjson"

// loadPattern is the route whose body has no size limit: the handler streams it.
const loadPattern = "POST /v1/memories/load"

// LoadedMemories is the result of a load.
type LoadedMemories dump.LoadResult

func (g *Gateway) dumpRoutes() {
	handle(g, route{
		method:  http.MethodGet,
		path:    "/v1/memories/dump",
		id:      "dumpMemories",
		tag:     tagMemory,
		scope:   access.Admin,
		summary: "Export all memories of the workspace as JSON lines",
		about: "A dump contains targets, sessions with messages, memories of every type with their history, the " +
			"identity and the soul, all from one point in time. The first line is a header. The last line has the " +
			"number and the SHA-256 of the others; a dump without it is incomplete.",
		responses: map[string]*huma.Response{
			"200": {
				Description: "The lines",
				Content:     content(lineText, text("One object per line")),
			},
		},
	}, g.dumpMemories)
	handle(g, route{
		method:  http.MethodPost,
		path:    "/v1/memories/load",
		id:      "loadMemories",
		tag:     tagMemory,
		scope:   access.Admin,
		summary: "Import memories from a dump",
		about: "Existing entries stay unchanged. The whole file is checked first: a damaged file is rejected with " +
			"the line number and nothing is imported. Then memories are imported in transactions of 500. An " +
			"interrupted import continues with the same Idempotency-Key. Dumps of ReMe are accepted, too, and files " +
			"with one memory per line in the form of POST /v1/memories. Memories keep their IDs, times and " +
			"histories. Memories without a vector of the current embedding model get one.",
		body: &huma.RequestBody{
			Required: true,
			Content:  content(lineText, text("One object per line")),
		},
	}, g.loadMemories)
	handle(g, route{method: http.MethodPost, path: "/v1/memories/copy", id: "copyMemories", tag: tagMemory,
		scope: access.Admin, bytes: smallBody, summary: "Copy the memories of another workspace"},
		g.copyMemories)
}

type dumpOutput struct{ Body func(huma.Context) }

func (g *Gateway) dumpMemories(ctx context.Context, in *struct {
	Vectors bool `query:"vectors" doc:"Include the vectors of memories, for a deployment with the same embedding model"`
}) (*dumpOutput, error) {
	ws := workspace(ctx)
	return &dumpOutput{func(c huma.Context) {
		_, to := humago.Unwrap(c)
		to.Header().Set("Content-Type", lineText)
		to.Header().Set("Cache-Control", "no-store")
		paced := edge.NewPaced(to)
		defer paced.Close()
		if err := g.Dumps.Dump(ctx, ws, paced, dump.Options{Vectors: in.Vectors}); err != nil {
			if ctx.Err() == nil {
				g.Log.Error("dump failed", "error", err)
			}
			panic(http.ErrAbortHandler) // a partial dump must not look complete
		}
	}}, nil
}

// loadInput streams its body.
type loadInput struct {
	IdempotencyKey
	body io.Reader
}

// Resolve gives the handler access to the request before huma reads the body.
func (in *loadInput) Resolve(ctx huma.Context) []error {
	r, _ := humago.Unwrap(ctx)
	in.body = r.Body
	return nil
}

func (g *Gateway) loadMemories(ctx context.Context, in *loadInput) (*bodyOf[LoadedMemories], error) {
	loaded, err := g.Dumps.Load(ctx, person(ctx, in.IdempotencyKey), in.body)
	return &bodyOf[LoadedMemories]{LoadedMemories(loaded)}, err
}

func (g *Gateway) copyMemories(ctx context.Context, in *struct {
	IdempotencyKey
	Body struct {
		From string `json:"from_key" minLength:"1" doc:"A key of the source workspace with the scope admin"`
	}
}) (*bodyOf[LoadedMemories], error) {
	var from access.Principal
	err := g.Edge.Attempt(ctx, func(ctx context.Context) (err error) {
		from, err = g.Keys.Principal(ctx, in.Body.From)
		return err
	})
	if fault.CodeOf(err) == fault.NotFound || err == nil && !access.Admin.Allows(from.Scopes) {
		return nil, fault.New(fault.OutOfScope, "invalid from_key",
			"send a key of the source workspace with the scope admin")
	}
	if err != nil {
		return nil, err
	}
	loaded, err := g.Dumps.Copy(ctx, dump.CopySource{Workspace: from.Workspace.ID, Key: from.Key},
		person(ctx, in.IdempotencyKey))
	return &bodyOf[LoadedMemories]{LoadedMemories(loaded)}, err
}
