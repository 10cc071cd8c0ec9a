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

func TestAccountsOfFeishuAndDingTalk(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{platform: feishu, app_id: cli_1, app_secret: s}":                        "",
		"{platform: feishu, app_id: cli_1}":                                       "missing app_id or app_secret",
		"{platform: dingtalk, client_id: d, client_secret: s, robot_code: other}": "",
		"{platform: dingtalk, client_secret: s}":                                  "missing client_id or client_secret",
	} {
		path := filepath.Join(t.TempDir(), "channels.yaml")
		testkit.Must(t, os.WriteFile(path, []byte("accounts:\n  ada: "+text+"\n"), 0o600))
		got, err := channel.Load(path, os.LookupEnv)
		switch f := fault.From(err); {
		case want == "" && (err != nil || len(got) != 1):
			t.Errorf("%s: %v, %v", text, got, err)
		case want != "" && (f.Code != fault.Misconfigured || f.Hint == "" || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v", text, err)
		}
	}
}
