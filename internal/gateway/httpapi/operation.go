package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/fault"
	"cairn/internal/service/apikey"
)

// route is what a route's description says beside its types.
type route struct {
	method, path string
	id           string // of the operation, which generated clients name their functions after
	summary      string
	about        string
	tag          string
	scope        apikey.Scope // that a key needs; empty is open to everybody
	status       int          // of success; 0 is 200
	bytes        int64        // of the body at most; 0 is what every request may have
	body         *huma.RequestBody
	responses    map[string]*huma.Response // where the types do not tell
}

// smallBody bounds what is said to an agent or written by one, in bytes.
const smallBody = 512 << 10

// handle adds a route to the gateway. An error of fn becomes a Problem; what is
// ours to mend is logged.
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
		op.Middlewares = huma.Middlewares{g.admit(r.scope)}
	}
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	op.Responses["default"] = &huma.Response{Description: "What went wrong",
		Content: map[string]*huma.MediaType{"application/json": {Schema: schemaOf[Problem](g)}}}
	huma.Register(g.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := fn(ctx, in)
		if err != nil {
			return nil, g.problemFrom(ctx, r.id, err)
		}
		return out, nil
	})
}

// problemFrom is err as the caller sees it. What the caller cannot mend is logged.
func (g *Gateway) problemFrom(ctx context.Context, doing string, err error) *Problem {
	p := problemOf(err)
	if p.status >= http.StatusInternalServerError && p.Code != fault.NotImplemented && ctx.Err() == nil {
		g.Log.Error("request failed", "operation", doing, "code", p.Code, "error", err)
	}
	return p
}
