package httpapi

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/internal/domain/fault"
	"cairn/internal/gateway/mcpserver"
	"cairn/internal/service/apikey"
)

type serverKey struct{}

// mcpRoute offers the tools over MCP. There are no sessions: every request is
// judged by its own key, and any gateway can answer it. It stands beside the
// described routes, for the protocol describes itself.
func (g *Gateway) mcpRoute() {
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		s, _ := r.Context().Value(serverKey{}).(*mcp.Server)
		return s
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true,
		MaxRequestBodyBytes:        min(g.Options.RequestBytes, mcpBody),
		DisableLocalhostProtection: true}) // it guards servers without keys
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

// foreign refuses a web page of another address, as the protocol asks for. Only
// pages send an Origin; one that a name was rebound to says its own as Host, so
// Host proves nothing.
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
	return problem(fault.OutOfScope, fmt.Sprintf("a page of %.100q may not use /mcp", origin),
		"set PUBLIC_BASE_URL to the gateway's own address, or send no Origin")
}

// mcpBody is a tool's arguments with what goes round them, in bytes.
const mcpBody = 2 * smallBody

// mcpServer is the server that a request's key may use.
func (g *Gateway) mcpServer(r *http.Request) (*mcp.Server, *Problem) {
	h, refused := g.authorize(r, apikey.Read)
	if refused != nil {
		return nil, refused
	}
	s, err := mcpserver.New(mcpserver.Options{Name: g.Options.MCPName, Registry: g.Offered,
		Profile: r.URL.Query().Get("profile"), Workspace: h.Workspace.ID, MayWrite: apikey.Write.Allows(h.Scopes),
		Log: g.Log})
	if err != nil {
		if fault.CodeOf(err) == fault.Internal {
			return nil, g.problemFrom(r.Context(), "mcp", err)
		}
		return nil, problemOf(err)
	}
	return s, nil
}
