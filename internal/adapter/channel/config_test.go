package channel_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	adapter "cairn/internal/adapter/channel"
	"cairn/internal/domain/fault"
	"cairn/internal/testkit"
)

// load reads accounts with a variable.
func load(t *testing.T, text, value string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "channels.yaml")
	testkit.Must(t, os.WriteFile(file, []byte(text), 0o600))
	_, err := adapter.Load(file, func(name string) (string, bool) { return value, name == "TOKEN" })
	return err
}

// A secret can have any characters. It is in no error.
func TestSecretsAreNotPartOfTheFile(t *testing.T) {
	t.Parallel()
	secret := `1:a"b\c#d, e: {f}` + "\n- g"
	for _, line := range []string{`{platform: telegram, token: ${TOKEN}}`, `{platform: telegram, token: "${TOKEN}"}`} {
		if err := load(t, "accounts:\n  ada: "+line, secret); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	for line, want := range map[string]string{
		`{platform: telegram, token: ${OTHER}}`:              "unset variables: OTHER",
		`{platform: carrier-pigeon, token: ${TOKEN}}`:        "unknown platform",
		`{platform: telegram, token: ${TOKEN}, nickname: x}`: "nickname",
		`{platform: telegram, token: ${TOKEN}, profile: x}`:  "unknown profile",
		`{platform: telegram, token: ${TOKEN}, access: no}`:  "invalid access",
		`[`: "read ",
	} {
		err := load(t, "accounts:\n  ada: "+line, secret)
		if f := fault.From(err); err == nil || f.Code != fault.Misconfigured || f.Hint == "" ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "1:a") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// Partial replies are shown where the platform can, unless the profile switches them off.
func TestPartialRepliesAreSwitchedOff(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"{platform: telegram, token: \"1:a\"}":                                                   true,
		"{platform: telegram, token: \"1:a\", profile: with}":                                    true,
		"{platform: telegram, token: \"1:a\", profile: without}":                                 false,
		"{platform: slack, bot_token: xoxb-1, app_token: xapp-1}":                                true,
		"{platform: discord, token: a.b.c}":                                                      true,
		"{platform: feishu, app_id: cli_1, app_secret: s}":                                       true,
		"{platform: dingtalk, client_id: d, client_secret: s}":                                   false,
		"{platform: webhook, secret: whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz, url: \"http://a\"}": false,
	} {
		path := filepath.Join(t.TempDir(), "channels.yaml")
		testkit.Must(t, os.WriteFile(path, []byte("accounts:\n  ada: "+text+
			"\nprofiles:\n  with: {partial: true}\n  without: {partial: false}\n"), 0o600))
		got, err := adapter.Load(path, os.LookupEnv)
		testkit.Must(t, err)
		if got[0].Profile.Partial != want {
			t.Errorf("%s: partial replies %t", text, got[0].Profile.Partial)
		}
	}
}

func TestProfilesAreChecked(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]string{"": "", "coalesce: 0s, budget: 50, language: zh": "",
		"coalesce: 11s": "coalesce", "budget: 51": "budget", "language: fr": "language", "channel: fax": "channel",
		"busy: wait": "busy", "busy: redirect, tools: {deny: [soul_update]}": ""} {
		err := load(
			t,
			"accounts:\n  ada: {platform: telegram, token: ${TOKEN}, profile: p}\nprofiles:\n  p: {"+members+"}",
			"1:a",
		)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v", members, err)
		}
	}
}

// Of several wrong accounts, the error names the same one each time.
func TestErrorsNameTheFirstAccount(t *testing.T) {
	t.Parallel()
	for range 20 {
		err := load(t, "accounts:\n  b: {platform: x}\n  a: {platform: x}\n  c: {platform: x}\n  d: {platform: x}", "")
		if err == nil || !strings.Contains(err.Error(), "of account a:") {
			t.Fatalf("%v", err)
		}
	}
}
