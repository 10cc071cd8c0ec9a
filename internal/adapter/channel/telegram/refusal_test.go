package telegram_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cairn/internal/adapter/channel/telegram"
	"cairn/internal/domain/channel"
	"cairn/internal/lab/fakes/telegramtest"
	service "cairn/internal/service/channel"
	"cairn/internal/testkit"
)

var ada = channel.Place{Account: "ada", Chat: "7"}

// Only a refusal of the chat is one of all messages.
func TestRefusalsOfMessagesAndOfChats(t *testing.T) {
	t.Parallel()
	var status int
	var body map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body) // a write error: the client has left
	}))
	t.Cleanup(server.Close)
	a, err := telegram.New(telegram.Options{Account: "ada", Token: telegramtest.Token, API: server.URL})
	testkit.Must(t, err)
	for description, c := range map[string]struct {
		status          int
		permanent, gone bool
	}{
		"Bad Request: BUTTON_DATA_INVALID":                                 {400, true, false},
		"Bad Request: message is too long":                                 {400, true, false},
		"Bad Request: can't parse entities: Unsupported start tag":         {400, true, false},
		"Bad Request: chat not found":                                      {400, true, true},
		"Bad Request: message thread not found":                            {400, true, true},
		"Bad Request: not enough rights to send text messages to the chat": {400, true, true},
		"Bad Request: group chat was upgraded to a supergroup chat":        {400, true, true},
		"Forbidden: user is deactivated":                                   {403, true, true},
		"Forbidden: bot was kicked from the supergroup chat":               {403, true, true},
		"Forbidden: bot can't initiate conversation with a user":           {403, true, true},
		"Unauthorized":                     {401, false, false},
		"Too Many Requests: retry after 5": {429, false, false},
	} {
		status, body = c.status, map[string]any{"ok": false, "error_code": c.status, "description": description}
		if strings.Contains(description, "upgraded") {
			body["parameters"] = map[string]any{"migrate_to_chat_id": -1009}
		}
		_, err := a.Send(t.Context(), ada, channel.Part{Key: "k", Text: "Hello"})
		var refused *service.SendError
		if !errors.As(err, &refused) || refused.Permanent != c.permanent || refused.Gone != c.gone {
			t.Errorf("%s: %+v", description, err)
		}
	}
}

// Markup can make a message too large, although its text is not.
func TestMarkupThatIsTooLargeIsLeftOut(t *testing.T) {
	t.Parallel()
	server := telegramtest.Start()
	t.Cleanup(server.Close)
	a, err := open(server, telegramtest.Token)
	testkit.Must(t, err)
	for name, text := range map[string]string{
		"quotes": strings.Repeat(">", 2000) + " a", // 50 KB of HTML
		"lists":  strings.Repeat("- ", 2000) + "a", // 36,000 units to show
	} {
		id, err := a.Send(t.Context(), ada, channel.Part{Key: "k", Text: text})
		testkit.Must(t, err)
		got := server.Sent()
		if last := got[len(got)-1]; last.Text != text {
			t.Errorf("%s: sent %.100q", name, last.Text)
		}
		testkit.Must(t, a.(service.Editor).Edit(t.Context(), ada, id, text+"!"))
	}
	if n := len(telegram.HTML(strings.Repeat("- ", 2000) + "a")); n > 100_000 {
		t.Errorf("2,000 lists in each other become %d bytes", n)
	}
}
