package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/gateway/edge"
)

// route describes an operation, except for its types.
type route struct {
	method, path string
	id           string // operation ID; generated clients name their functions after it
	summary      string
	about        string
	tag          string
	scope        access.Scope // required scope of the key; empty means no authentication
	status       int          // status of success; 0 means 200
	bytes        int64        // maximum body size; 0 means Options.RequestBytes
	byBytes      bool         // limited by the bytes of requests instead of their number
	body         *huma.RequestBody
	responses    map[string]*huma.Response // responses that the types do not describe
}

// smallBody is the maximum size of texts for or from an agent, in bytes.
const smallBody = 512 << 10

// handle registers a route. An error of fn becomes a Problem; server errors are logged.
func handle[I, O any](g *Gateway, r route, fn func(context.Context, *I) (*O, error)) {
	limit := g.Options.RequestBytes
	if r.bytes > 0 {
		limit = min(limit, r.bytes)
	}
	op := huma.Operation{OperationID: r.id, Method: r.method, Path: r.path, Summary: r.summary, Description: r.about,
		Tags:          []string{r.tag},
		DefaultStatus: r.status, MaxBodyBytes: limit + 1, RequestBody: r.body, Responses: r.responses,
		SkipValidateBody: r.body != nil}
	if op.DefaultStatus == 0 {
		op.DefaultStatus = http.StatusOK
	}
	if r.scope != "" {
		op.Security = []map[string][]string{{bearer: {string(r.scope)}}}
		op.Middlewares = huma.Middlewares{g.admit(r.scope, r.byBytes)}
	}
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	op.Responses["default"] = &huma.Response{Description: "An error",
		Content: map[string]*huma.MediaType{"application/json": {Schema: schemaOf[edge.Problem](g)}}}
	huma.Register(g.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := fn(ctx, in)
		if err != nil {
			return nil, g.Edge.Refuse(ctx, r.id, err)
		}
		return out, nil
	})
}
