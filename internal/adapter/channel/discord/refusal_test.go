package discord_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"cairn/internal/adapter/channel/discord"
	"cairn/internal/adapter/channel/discord/discordtest"
	"cairn/internal/domain/channel"
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
