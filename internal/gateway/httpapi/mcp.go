package httpapi

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/edge"
	"cairn/internal/gateway/mcpserver"
)

type serverKey struct{}

// mcpRoute serves the tools over MCP without sessions: each request authenticates with
// its own key, and any gateway can serve it. MCP describes itself, so the OpenAPI
// document does not list the route.
func (g *Gateway) mcpRoute() {
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		s, _ := r.Context().Value(serverKey{}).(*mcp.Server)
		return s
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true,
		MaxRequestBodyBytes:        min(g.Options.RequestBytes, mcpBody),
		DisableLocalhostProtection: true}) // the protection is for servers without keys
	g.mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		var ctx context.Context
		err := g.checkOrigin(r)
		if err == nil {
			ctx, err = g.Edge.Admit(r, edge.Terms{Scope: access.Read})
		}
		if err == nil {
			ctx, err = g.withServer(ctx, r.URL.Query().Get("profile"))
		}
		if err != nil {
			g.Edge.Refuse(r.Context(), "mcp", err).Write(w)
			return
		}
		handler.ServeHTTP(w, r.WithContext(ctx))
	})
}

// checkOrigin refuses a request from a web page of another origin, as MCP requires. Only
// browsers send an Origin. The check ignores Host, because after DNS rebinding a page
// sends its own name as Host.
func (g *Gateway) checkOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	page, err := url.Parse(origin)
	own, _ := url.Parse(g.Options.PublicBaseURL)
	if err == nil && (page.Hostname() == "localhost" || net.ParseIP(page.Hostname()).IsLoopback() || own != nil &&
		own.Host != "" && page.Scheme == own.Scheme && page.Host == own.Host) {
		return nil
	}
	return fault.New(fault.OutOfScope, fmt.Sprintf("origin %.100q is not allowed to use /mcp", origin),
		"set PUBLIC_BASE_URL to the address of the gateway, or send no Origin header")
}

// mcpBody is the maximum size of a tool call with its envelope, in bytes.
const mcpBody = 2 * smallBody

// withServer returns the context of a request with an MCP server for its caller.
func (g *Gateway) withServer(ctx context.Context, profile string) (context.Context, error) {
	h := edge.Caller(ctx)
	s, err := mcpserver.New(mcpserver.Options{Name: g.Options.MCPName, Registry: g.Offered, Profile: profile,
		Workspace: h.Workspace.ID, MayWrite: access.Write.Allows(h.Scopes), Log: g.Log})
	return context.WithValue(ctx, serverKey{}, s), err
}
