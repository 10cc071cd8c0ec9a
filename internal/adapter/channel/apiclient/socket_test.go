package apiclient_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"cairn/internal/adapter/channel/apiclient"
	"cairn/internal/testkit"
)

// serve starts a server that passes each connection to do, and returns its URL.
func serve(t *testing.T, do func(*websocket.Conn)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("ticket") != "right" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		var upgrader websocket.Upgrader
		ws, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		do(ws)
	}))
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "http", "ws", 1) + "?ticket=right"
}

// read reads until the connection ends.
func read(ws *websocket.Conn) {
	for {
		if _, _, err := ws.ReadMessage(); err != nil {
			return
		}
	}
}

func TestASilentConnectionBreaks(t *testing.T) {
	t.Parallel()
	silent := make(chan struct{})
	t.Cleanup(func() { close(silent) })
	c, _, err := apiclient.DialSocket(t.Context(), serve(t, func(*websocket.Conn) { <-silent }), 50*time.Millisecond)
	testkit.Must(t, err)
	defer c.Close()
	testkit.Must(t, c.Ping())
	if _, err := c.Read(); err == nil {
		t.Error("a silent connection is open")
	}
}

func TestPongsKeepAConnectionOpen(t *testing.T) {
	t.Parallel()
	said := make(chan struct{})
	c, _, err := apiclient.DialSocket(t.Context(), serve(t, func(ws *websocket.Conn) {
		go func() {
			<-said
			_ = ws.WriteMessage(websocket.TextMessage, []byte("late"))
		}()
		read(ws)
	}), 500*time.Millisecond)
	testkit.Must(t, err)
	defer c.Close()
	go func() {
		defer close(said)
		for range 20 {
			_ = c.Ping()
			time.Sleep(50 * time.Millisecond)
		}
	}()
	if raw, err := c.Read(); err != nil || string(raw) != "late" {
		t.Errorf("%q, %v", raw, err)
	}
}

func TestAConnectionEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c, _, err := apiclient.DialSocket(ctx, serve(t, read), time.Minute)
	testkit.Must(t, err)
	cancel()
	if _, err := c.Read(); err == nil {
		t.Error("the connection is open")
	}
}

func TestErrorsDoNotShowTheTicket(t *testing.T) {
	t.Parallel()
	address := strings.Replace(serve(t, read), "right", "secret-ticket", 1)
	const query = "/?ticket=secret-ticket"
	for _, url := range []string{address, "ws://[broken" + query, "ws://127.0.0.1:1" + query} {
		_, _, err := apiclient.DialSocket(t.Context(), url, time.Minute)
		if err == nil || strings.Contains(err.Error(), "secret-ticket") {
			t.Errorf("%v", err)
		}
	}
}
