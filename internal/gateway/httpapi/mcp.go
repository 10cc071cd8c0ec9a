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
		refused := g.foreign(r)
		var s *mcp.Server
		if refused == nil {
			s, refused = g.mcpServer(r)
		}
		if refused != nil {
			refused.write(w)
			return
		}
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), serverKey{}, s)))
	})
}

// foreign refuses a request from a web page of another origin, as MCP requires. Only
// browsers send an Origin. The check ignores Host, because after DNS rebinding a page
// sends its own name as Host.
func (g *Gateway) foreign(r *http.Request) *Problem {
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
	return problem(fault.OutOfScope, fmt.Sprintf("origin %.100q is not allowed to use /mcp", origin),
		"set PUBLIC_BASE_URL to the address of the gateway, or send no Origin header")
}

// mcpBody is the maximum size of a tool call with its envelope, in bytes.
const mcpBody = 2 * smallBody

// mcpServer returns an MCP server for the request's key.
func (g *Gateway) mcpServer(r *http.Request) (*mcp.Server, *Problem) {
	h, refused := g.authorize(r, access.Read, g.requestLimit)
	if refused != nil {
		return nil, refused
	}
	s, err := mcpserver.New(mcpserver.Options{Name: g.Options.MCPName, Registry: g.Offered,
		Profile: r.URL.Query().Get("profile"), Workspace: h.Workspace.ID, MayWrite: access.Write.Allows(h.Scopes),
		Log: g.Log})
	if err != nil {
		if fault.CodeOf(err) == fault.Internal {
			return nil, g.problemFrom(r.Context(), "mcp", err)
		}
		return nil, problemOf(err)
	}
	return s, nil
}
