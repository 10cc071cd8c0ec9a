package channel_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn/internal/adapter/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/testkit"
)

func TestAccountsOfSlack(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"bot_token: xoxb-1, app_token: ${APP}":                    "",
		"bot_token: xoxb-1, signing_secret: ${APP}":               "",
		"app_token: ${APP}":                                       "missing bot_token",
		"bot_token: xoxb-1":                                       "missing app_token",
		"bot_token: xoxb-1, app_token: xapp-1, signing_secret: s": "app_token and signing_secret",
		"bot_token: xoxb-1, app_tokens: xapp-1":                   "app_tokens",
	} {
		path := filepath.Join(t.TempDir(), "channels.yaml")
		testkit.Must(t, os.WriteFile(path, []byte("accounts:\n  team: {platform: slack, "+text+"}\n"), 0o600))
		accounts, err := channel.Load(path, func(string) (string, bool) { return "xapp-1", true })
		switch {
		case want == "":
			if err != nil || len(accounts) != 1 || accounts[0].Platform != "slack" {
				t.Errorf("%q: %v", text, err)
			}
		case err == nil || !strings.Contains(err.Error(), want) || fault.From(err).Hint == "":
			t.Errorf("%q: %v", text, err)
		}
	}
}
