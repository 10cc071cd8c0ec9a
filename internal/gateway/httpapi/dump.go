package httpapi

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cairn/internal/domain/fault"
	"cairn/internal/service/apikey"
	"cairn/internal/service/dump"
)

// lineText is lines of JSON.
const lineText = "application/x-ndjson"

// loadPattern is the route whose body is not bounded: it is read as it comes.
const loadPattern = "POST /v1/memories/load"

// LoadedMemories is what a load has written.
type LoadedMemories dump.LoadResult

func (g *Gateway) dumpRoutes() {
	handle(g, route{method: http.MethodGet, path: "/v1/memories/dump", id: "dumpMemories", tag: tagMemory,
		scope: apikey.Read, summary: "Carry away all that the workspace remembers, as lines of JSON",
		about: "Targets, sessions with what was said, memories of every type with their history, the identity and " +
			"the soul, as they are at one moment. " +
			"The first line is a header, the last one counts the others and has their SHA-256: a dump without it " +
			"was cut off.",
		responses: map[string]*huma.Response{
			"200": {Description: "The lines", Content: content(lineText, text("One object a line"))}}}, g.dumpMemories)
	handle(g, route{method: http.MethodPost, path: "/v1/memories/load", id: "loadMemories", tag: tagMemory,
		scope: apikey.Admin, summary: "Load what a dump has carried away: all of it or nothing",
		about: "What is here already stays as it is. A file that is broken is refused with the number of the line, " +
			"and nothing of it is loaded; dumps of ReMe are read, too. " +
			"Memories keep their ids, times and histories; those without a vector of the model in force get one in " +
			"the background.",
		body: &huma.RequestBody{Required: true, Content: content(lineText, text("One object a line"))}}, g.loadMemories)
	handle(g, route{method: http.MethodPost, path: "/v1/memories/copy", id: "copyMemories", tag: tagMemory,
		scope: apikey.Admin, bytes: smallBody, summary: "Load what another workspace remembers, whose key is given"},
		g.copyMemories)
}

type dumpOutput struct{ Body func(huma.Context) }

func (g *Gateway) dumpMemories(ctx context.Context, in *struct {
	Vectors bool `query:"vectors" doc:"With the vectors of memories, for a deployment with the same embedding model"`
}) (*dumpOutput, error) {
	ws := workspace(ctx)
	return &dumpOutput{func(c huma.Context) {
		_, to := humago.Unwrap(c)
		to.Header().Set("Content-Type", lineText)
		to.Header().Set("Cache-Control", "no-store")
		control := http.NewResponseController(to)
		defer control.SetWriteDeadline(time.Time{})
		if err := g.Dumps.Dump(c.Context(), ws, paced{to, control}, dump.Options{Vectors: in.Vectors}); err != nil {
			if c.Context().Err() == nil {
				g.Log.Error("a dump broke off", "error", err)
			}
			panic(http.ErrAbortHandler) // half a dump must not look like a whole one
		}
	}}, nil
}

// paced writes to a client that must keep taking what it is sent.
type paced struct {
	io.Writer
	control *http.ResponseController
}

func (p paced) Write(b []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	return p.Writer.Write(b)
}

// loadInput has its body as it comes.
type loadInput struct {
	IdempotencyKey
	body io.Reader
}

// Resolve is how huma gives the request away before it is answered.
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
		From string `json:"from_key" minLength:"1" doc:"A key of the workspace that is copied, with the scope read"`
	}
}) (*bodyOf[LoadedMemories], error) {
	from, err := g.Keys.Principal(ctx, in.Body.From)
	if fault.CodeOf(err) == fault.NotFound || err == nil && !apikey.Read.Allows(from.Scopes) {
		return nil, fault.New(fault.OutOfScope, "from_key is not good",
			"give a key of the workspace that is to be copied, with the scope read")
	}
	if err != nil {
		return nil, err
	}
	loaded, err := g.Dumps.Copy(ctx, from.Workspace.ID, person(ctx, in.IdempotencyKey))
	return &bodyOf[LoadedMemories]{LoadedMemories(loaded)}, err
}
