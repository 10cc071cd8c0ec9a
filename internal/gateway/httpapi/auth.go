package httpapi

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"cairn/internal/domain/access"
	"cairn/internal/gateway/edge"
)

// bearer is the name of the security scheme in the OpenAPI document.
const bearer = "key"

// asking returns the principal of the request. The workspace always comes from it.
func asking(ctx context.Context) access.Principal { return edge.Caller(ctx) }

// workspace returns the ID of the principal's workspace.
func workspace(ctx context.Context) int64 { return asking(ctx).Workspace.ID }

// admit passes a request on if the edge admits it. It runs before the body is read.
func (g *Gateway) admit(scope access.Scope, byBytes bool) func(huma.Context, func(huma.Context)) {
	terms := edge.Terms{Scope: scope}
	if byBytes {
		terms.Limit = edge.ByBytes
	}
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		admitted, err := g.Edge.Admit(r, terms)
		if err != nil {
			g.Edge.Refuse(r.Context(), "admit a request", err).Write(w)
			return
		}
		next(huma.WithContext(ctx, admitted))
	}
}
