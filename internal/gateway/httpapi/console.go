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
			noRoute(r).Write(w)
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

// Send accepts a message for a workspace, streams its reply into the database, and does not wait for it.
func (g *Gateway) Send(ctx context.Context, ws access.Workspace, name, message, text string) error {
	r := conversation.Request{Workspace: ws.ID, WorkspaceKey: ws.Key, Conversation: name, Channel: "chat",
		MessageID: message, Text: text, Spec: g.Options.TurnSpec()}
	r.Spec.Stream = true
	accepted, err := g.Inbox.Accept(ctx, r)
	if err != nil || accepted.Turn.Ended {
		return err
	}
	return g.answer(ctx, r, accepted.Run, 0)
}
