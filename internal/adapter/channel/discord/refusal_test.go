package discord_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"cairn/internal/adapter/channel/discord"
	"cairn/internal/domain/channel"
	"cairn/internal/lab/fakes/discordtest"
	service "cairn/internal/service/channel"
	"cairn/internal/testkit"
)

// Only a refusal of the channel is one of all messages.
func TestRefusalsOfMessagesAndOfChannels(t *testing.T) {
	t.Parallel()
	var status, code int
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"code":%d,"message":"refused"}`, code)
	}))
	t.Cleanup(s.Close)
	a, err := discord.New(discord.Options{Account: "ada", Token: discordtest.Token, API: s.URL})
	testkit.Must(t, err)
	for name, c := range map[string]struct {
		status, code int
		gone         bool
	}{
		"invalid form":          {400, 50035, false},
		"empty message":         {400, 50006, false},
		"automatic moderation":  {400, 200000, false},
		"explicit content":      {403, 20009, false},
		"a harmful link":        {403, 240000, false},
		"an unknown channel":    {404, 10003, true},
		"no access":             {403, 50001, true},
		"a user who blocks it":  {403, 50007, true},
		"an archived thread":    {400, 50083, true},
		"not a channel of text": {400, 50008, true},
	} {
		status, code = c.status, c.code
		_, err := a.Send(t.Context(), private, channel.Part{Key: "k", Text: "Hello"})
		var refused *service.SendError
		if !errors.As(err, &refused) || !refused.Permanent || refused.Gone != c.gone {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

// A gateway that accepts a connection and says nothing does not keep a process from ending.
func TestWaitingForTheGatewayEndsWithTheContext(t *testing.T) {
	t.Parallel()
	connected := make(chan struct{})
	mux := http.NewServeMux()
	var s *httptest.Server
	mux.HandleFunc("GET /users/@me", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"id":"5"}`) })
	mux.HandleFunc("GET /gateway/bot", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"url":%q,"session_start_limit":{"remaining":1000}}`, strings.Replace(s.URL, "http", "ws", 1))
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		var upgrader websocket.Upgrader
		if c, err := upgrader.Upgrade(w, r, nil); err == nil {
			defer c.Close()
			close(connected)
			_, _, _ = c.ReadMessage() // ends with the connection
		}
	})
	s = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	a, err := discord.New(discord.Options{Account: "ada", Token: discordtest.Token, API: s.URL})
	testkit.Must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Receive(ctx, "", nil) }()
	<-connected
	cancel()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("Receive waits for the gateway")
	}
}
