package gateway

import (
	"context"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/internal/fault"
	"cairn/internal/gateway/toolserver"
)

type serverKey struct{}

// mcpRoute offers the tools over MCP. There are no sessions: every request is
// judged by its own key, and any gateway can answer it. It stands beside the
// described routes, for the protocol describes itself.
func (g *Gateway) mcpRoute() {
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		s, _ := r.Context().Value(serverKey{}).(*mcp.Server)
		return s
	}, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: min(g.Config.RequestBytes, mcpBody),
		DisableLocalhostProtection: true}) // it guards servers without keys
	g.mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		s, refused := g.mcpServer(r)
		if refused != nil {
			refused.write(w)
			return
		}
		handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), serverKey{}, s)))
	})
}

// mcpBody is a tool's arguments with what goes round them, in bytes.
const mcpBody = 2 * smallBody

// mcpServer is the server that a request's key may use.
func (g *Gateway) mcpServer(r *http.Request) (*mcp.Server, *Problem) {
	h, refused := g.authorize(r, Read)
	if refused != nil {
		return nil, refused
	}
	s, err := toolserver.New(toolserver.Options{Name: g.Config.MCPName, Registry: g.Offered, Profile: r.URL.Query().Get("profile"), Workspace: h.Workspace.ID, MayWrite: Write.allows(h.Scopes), Log: g.Log})
	if err != nil {
		if fault.CodeOf(err) == fault.Internal {
			return nil, g.told(r.Context(), "mcp", err)
		}
		return nil, problemOf(err)
	}
	return s, nil
}
