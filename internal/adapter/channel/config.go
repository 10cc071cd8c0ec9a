package channel

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"cairn/internal/adapter/channel/dingtalk"
	"cairn/internal/adapter/channel/discord"
	"cairn/internal/adapter/channel/feishu"
	"cairn/internal/adapter/channel/slack"
	"cairn/internal/adapter/channel/telegram"
	"cairn/internal/adapter/channel/webhook"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	service "cairn/internal/service/channel"
)

// file is the configuration file.
type file struct {
	Accounts map[string]account `yaml:"accounts"`
	Profiles map[string]profile `yaml:"profiles"`
}

// profile is how messages of accounts are answered.
type profile struct {
	Channel  string         `yaml:"channel"`
	Language string         `yaml:"language"`
	Budget   int            `yaml:"budget"`
	Coalesce *time.Duration `yaml:"coalesce"`
	Busy     string         `yaml:"busy"`
	Partial  *bool          `yaml:"partial"`
	Tools    struct {
		Deny []string `yaml:"deny"`
	} `yaml:"tools"`
	Groups struct {
		Allow   []string `yaml:"allow"`
		Mention *bool    `yaml:"mention"`
	} `yaml:"groups"`
}

// maxCoalesce is the longest time within which messages become one turn.
const maxCoalesce = 10 * time.Second

func (p profile) open(name string) (out channel.Profile, err error) {
	wrong := func(member, hint string) error {
		return fault.New(fault.Misconfigured, fmt.Sprintf("invalid %s of profile %.40q", member, name), hint)
	}
	out = channel.Profile{Channel: p.Channel, Language: p.Language, Budget: p.Budget,
		Coalesce: service.UsualCoalesce, Redirect: p.Busy == "redirect", Allow: p.Groups.Allow,
		Deny: slices.Compact(slices.Sorted(slices.Values(p.Tools.Deny)))}
	if p.Coalesce != nil {
		out.Coalesce = *p.Coalesce
	}
	if p.Groups.Mention != nil {
		out.Unasked = !*p.Groups.Mention
	}
	const maxBudget = 50
	switch {
	case !slices.Contains([]string{"", "voice", "sms", "chat", "scheduled"}, p.Channel):
		return out, wrong("channel", "use voice, sms, chat or scheduled")
	case !slices.Contains([]string{"", "en", "zh"}, p.Language):
		return out, wrong("language", "use en or zh, or omit it for the language of each message")
	case p.Budget < 0 || p.Budget > maxBudget:
		return out, wrong("budget", "use 1 to 50 model responses, or omit it for the budget of the channel")
	case !slices.Contains([]string{"", "queue", "redirect"}, p.Busy):
		return out, wrong("busy", "use queue or redirect")
	case out.Coalesce < 0 || out.Coalesce > maxCoalesce:
		return out, wrong("coalesce", "use 0s to 10s, such as 1.5s")
	}
	return out, nil
}

// account is an account of the file. Each platform reads its own members.
type account struct {
	Platform string         `yaml:"platform"`
	Access   service.Access `yaml:"access"`
	Profile  string         `yaml:"profile"`

	Token  string `yaml:"token"`  // telegram, discord
	API    string `yaml:"api"`    // another server than the platform's own, such as a local one
	Secret string `yaml:"secret"` // webhook
	URL    string `yaml:"url"`    // webhook

	AppID     string `yaml:"app_id"`     // feishu
	AppSecret string `yaml:"app_secret"` // feishu

	ClientID     string `yaml:"client_id"`     // dingtalk
	ClientSecret string `yaml:"client_secret"` // dingtalk
	RobotCode    string `yaml:"robot_code"`    // dingtalk; empty means client_id

	BotToken      string `yaml:"bot_token"`      // slack
	AppToken      string `yaml:"app_token"`      // slack: receives by Socket Mode
	SigningSecret string `yaml:"signing_secret"` // slack: receives by the Events API, instead of app_token
}

// accountName is the form of the names of accounts. They are part of task queues and of paths.
var accountName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)

// variable is a reference to a variable of the environment.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// These characters enclose the name of a variable while the file is parsed. They have no meaning in YAML.
const placeOpen, placeClose = "\uE000", "\uE001"

var place = regexp.MustCompile(placeOpen + "[A-Za-z0-9_]+" + placeClose)

// Load reads the accounts of a file. Values may name variables of the environment, as ${NAME}. Unknown members and
// unset variables are errors.
func Load(path string, getenv func(string) (string, bool)) ([]service.Account, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "read the accounts",
			"set CAIRN_CHANNELS to the path of a YAML file; see docs/how-to/channels.md")
	}
	var f file
	// A secret can have characters with a meaning in YAML, so the values are put in after the file is parsed.
	d := yaml.NewDecoder(bytes.NewReader(variable.ReplaceAll(raw, []byte(placeOpen+"$1"+placeClose))))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "read "+path, "see docs/how-to/channels.md for all members")
	}
	if len(f.Accounts) == 0 {
		return nil, fault.New(fault.Misconfigured, path+" has no accounts", "add one; see docs/how-to/channels.md")
	}
	var out []service.Account
	for _, name := range slices.Sorted(maps.Keys(f.Accounts)) {
		a := f.Accounts[name]
		if missing := a.expand(getenv); len(missing) > 0 {
			return nil, fault.New(fault.Misconfigured,
				fmt.Sprintf("account %s names unset variables: %s", name, strings.Join(missing, ", ")),
				"set them in the environment of the gateway")
		}
		one, err := a.open(name)
		if err != nil {
			return nil, err
		}
		p, known := f.Profiles[a.Profile]
		if !known && a.Profile != "" {
			return nil, fault.New(fault.Misconfigured,
				fmt.Sprintf("account %s names an unknown profile: %.40q", name, a.Profile), "add it under profiles")
		}
		if one.Profile, err = p.open(a.Profile); err != nil {
			return nil, err
		}
		_, streams := one.Adapter.(service.Streamer)
		one.Profile.Partial = streams && (p.Partial == nil || *p.Partial)
		out = append(out, one)
	}
	return out, nil
}

// expand puts the values of variables into the members of an account, and returns the variables that are not set.
func (a *account) expand(getenv func(string) (string, bool)) (missing []string) {
	for _, field := range reflect.ValueOf(a).Elem().Fields() {
		if field.Kind() != reflect.String {
			continue
		}
		field.SetString(place.ReplaceAllStringFunc(field.String(), func(ref string) string {
			name := strings.TrimSuffix(strings.TrimPrefix(ref, placeOpen), placeClose)
			value, ok := getenv(name)
			if !ok {
				missing = append(missing, name)
			}
			return value
		}))
	}
	return missing
}

// open makes the adapter of an account.
func (a account) open(name string) (out service.Account, err error) {
	if !accountName.MatchString(name) {
		return out, fault.New(fault.Misconfigured, fmt.Sprintf("invalid name of an account: %.60q", name),
			"use 1 to 40 lower-case letters, digits, - and _")
	}
	if a.Access == "" {
		a.Access = service.AccessPairing
	}
	if !slices.Contains(
		[]service.Access{service.AccessPairing, service.AccessAllowlist, service.AccessOpen},
		a.Access,
	) {
		return out, fault.New(fault.Misconfigured, fmt.Sprintf("invalid access of account %s: %.40q", name, a.Access),
			"use pairing, allowlist or open")
	}
	out = service.Account{Name: name, Platform: a.Platform, Access: a.Access}
	switch a.Platform {
	case "discord":
		out.Adapter, err = discord.New(discord.Options{Account: name, Token: a.Token, API: a.API})
	case "telegram":
		out.Adapter, err = telegram.New(telegram.Options{Account: name, Token: a.Token, API: a.API})
	case "slack":
		out.Adapter, err = slack.New(slack.Options{Account: name, BotToken: a.BotToken, AppToken: a.AppToken,
			SigningSecret: a.SigningSecret, API: a.API})
	case "webhook":
		out.Adapter, err = webhook.New(webhook.Options{Account: name, Secret: a.Secret, URL: a.URL})
	case "feishu":
		out.Adapter, err = feishu.New(feishu.Options{Account: name, AppID: a.AppID, AppSecret: a.AppSecret, API: a.API})
	case "dingtalk":
		out.Adapter, err = dingtalk.New(dingtalk.Options{Account: name, ClientID: a.ClientID,
			ClientSecret: a.ClientSecret, RobotCode: a.RobotCode, API: a.API})
	default:
		err = fault.New(fault.Misconfigured, fmt.Sprintf("unknown platform of account %s: %.40q", name, a.Platform),
			"use telegram, slack, discord, feishu, dingtalk or webhook")
	}
	return out, err
}

// Handler is an adapter that gets events by HTTP.
type Handler interface {
	Handler(accept service.Accept) http.Handler
}
