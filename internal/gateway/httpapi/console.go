package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"

	"cairn/internal/domain/access"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/tenancy"
	"cairn/internal/service/conversation"
)

// consolePath is the path of the web console.
const consolePath = "/console/"

// HandleConsole adds the web console to the routes. If it is apart, only ServeConsole serves it.
func (g *Gateway) HandleConsole(console http.Handler, apart bool) {
	mux := g.mux
	if apart {
		mux = http.NewServeMux()
		g.consoleMux = mux
	}
	mux.Handle(consolePath, console)
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		read := r.Method == http.MethodGet || r.Method == http.MethodHead
		if !read || !strings.Contains(r.Header.Get("Accept"), "text/html") {
			noRoute(r).write(w)
			return
		}
		base := ""
		if u, err := url.Parse(g.Options.PublicBaseURL); err == nil {
			base = strings.TrimRight(u.EscapedPath(), "/")
		}
		http.Redirect(w, r, base+consolePath, http.StatusSeeOther)
	})
}

// ServeConsole accepts connections for the console, which is apart from the API, on l until ctx ends.
func (g *Gateway) ServeConsole(ctx context.Context, l net.Listener) error {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(g.consoleMux, w, r) })
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerPatience, IdleTimeout: idleConnection,
		MaxHeaderBytes: MaxHeader, ErrorLog: slog.NewLogLogger(g.Log.Handler(), slog.LevelDebug)}
	stopped := context.AfterFunc(ctx, func() {
		finishing, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.Options.StopTimeout)
		defer cancel()
		if server.Shutdown(finishing) != nil {
			_ = server.Close() // streams are still open
		}
	})
	defer stopped()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the console on %s: %w", l.Addr(), err)
	}
	return nil
}

// Authenticate returns the principal of an API key that was typed in. As for requests, it slows
// down guesses.
func (g *Gateway) Authenticate(r *http.Request, key string) (access.Principal, error) {
	h, refused := g.authenticateKey(r, key, "")
	if refused != nil {
		return h, fault.New(refused.Code, refused.Message, refused.Hint)
	}
	return h, nil
}

// AuthenticateOperator returns the holder of an operator key that was typed in. It slows down guesses as Authenticate
// does.
func (g *Gateway) AuthenticateOperator(r *http.Request, key string) (access.Operator, error) {
	o, refused := g.findOperator(r, key, access.Support)
	if refused != nil {
		return o, fault.New(refused.Code, refused.Message, refused.Hint)
	}
	return o, nil
}

// Start starts the workflow of a stored run at once. If it fails, the relay starts the workflow later.
func (g *Gateway) Start(ctx context.Context, workspaceKey string, r run.Run) {
	g.start(ctx, workspaceKey, r)
}

// StartErase starts the workflow of an accepted erasure at once. If it fails, the relay starts it later.
func (g *Gateway) StartErase(ctx context.Context, e erasure.Erasure) { g.startErase(ctx, e) }

// Send accepts a message for a workspace, streams its reply into the database, and does not wait for it.
func (g *Gateway) Send(ctx context.Context, ws tenancy.Workspace, name, message, text string) error {
	r := conversation.Request{Workspace: ws.ID, WorkspaceKey: ws.Key, Conversation: name, Channel: "chat",
		MessageID: message, Text: text, Spec: g.Options.TurnSpec()}
	r.Spec.Stream = true
	accepted, err := g.Inbox.Accept(ctx, r)
	if err != nil || accepted.Turn.Ended {
		return err
	}
	return g.answer(ctx, r, accepted.Run, 0)
}

// Closing ends when the gateway stops, and open streams must end.
func (g *Gateway) Closing() context.Context { return g.closing }

// Encrypted reports whether a request arrived by HTTPS, here or at a trusted proxy.
func (g *Gateway) Encrypted(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	return g.trusts(peer(r)) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}
