package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cairn/internal/lab/fakes/channeltest"
	"cairn/internal/lab/fakes/discordtest"
	"cairn/internal/lab/fakes/feishutest"
	"cairn/internal/lab/fakes/slacktest"
	"cairn/internal/lab/fakes/telegramtest"
	"cairn/internal/lab/fakes/webhooktest"
)

// kind is a kind of platform.
type kind struct {
	name  string
	start func() channeltest.Platform
	// account returns the members of the account in the configuration.
	account func(channeltest.Platform) string
	decides bool // recognizes a message that is sent again
}

func kinds() []kind {
	return []kind{
		{"telegram", func() channeltest.Platform { return telegramtest.Start() }, func(p channeltest.Platform) string {
			return fmt.Sprintf("token: %q, api: %q", telegramtest.Token, p.(*telegramtest.Server).URL)
		}, false},
		{"slack", func() channeltest.Platform { return slacktest.Start(slacktest.Options{}) },
			func(p channeltest.Platform) string {
				return fmt.Sprintf("app_token: %q, bot_token: %q, api: %q", slacktest.AppToken, slacktest.BotToken,
					p.(*slacktest.Server).API())
			}, true},
		{"discord", func() channeltest.Platform { return discordtest.Start() }, func(p channeltest.Platform) string {
			return fmt.Sprintf("token: %q, api: %q", discordtest.Token, p.(*discordtest.Server).API())
		}, true},
		{"feishu", func() channeltest.Platform { return feishutest.Start(feishutest.Options{}) },
			func(p channeltest.Platform) string {
				return fmt.Sprintf("app_id: %q, app_secret: %q, api: %q", feishutest.AppID, feishutest.AppSecret,
					p.(*feishutest.Server).URL)
			}, true},
		{"webhook", func() channeltest.Platform { return webhooktest.Start() }, func(p channeltest.Platform) string {
			return fmt.Sprintf("secret: %q, url: %q", webhooktest.Secret, p.(*webhooktest.Program).URL)
		}, true},
	}
}

// platform is a running fake with its account, which has the name of its kind.
type platform struct {
	kind
	channeltest.Platform
}

// startPlatforms starts a fake of each kind, and writes the configuration of their accounts.
func startPlatforms(folder, gateway string) (all []platform, file string, err error) {
	lines := []string{"profiles:", "  busy: {coalesce: 300ms}", "accounts:"}
	for _, k := range kinds() {
		p := platform{k, k.start()}
		if m, ok := p.Platform.(channeltest.Mounter); ok {
			m.Mount(gateway + "/channels/" + k.name + "/events")
		}
		all = append(all, p)
		lines = append(lines, fmt.Sprintf("  %s: {platform: %s, access: open, profile: busy, %s}", k.name, k.name,
			k.account(p.Platform)))
	}
	file = filepath.Join(folder, "channels.yaml")
	return all, file, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

// answered returns the IDs of messages that a reply answers.
func answered(reply string) []string { return slices.Clone(id.FindAllString(reply, -1)) }
