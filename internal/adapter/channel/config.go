package channel

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"cairn/internal/adapter/channel/slack"
	"cairn/internal/adapter/channel/telegram"
	"cairn/internal/adapter/channel/webhook"
	"cairn/internal/domain/fault"
	service "cairn/internal/service/channel"
)

// file is the configuration file.
type file struct {
	Accounts map[string]account `yaml:"accounts"`
}

// account is an account of the file. Each platform reads its own members.
type account struct {
	Platform string         `yaml:"platform"`
	Access   service.Access `yaml:"access"`

	Token  string `yaml:"token"`  // telegram
	API    string `yaml:"api"`    // telegram, slack: another server, such as a local one
	Secret string `yaml:"secret"` // webhook
	URL    string `yaml:"url"`    // webhook

	BotToken      string `yaml:"bot_token"`      // slack
	AppToken      string `yaml:"app_token"`      // slack: receives by Socket Mode
	SigningSecret string `yaml:"signing_secret"` // slack: receives by the Events API, instead of app_token
}

// accountName is the form of the names of accounts. They are part of task queues and of paths.
var accountName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`)

// variable is a reference to a variable of the environment.
var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Load reads the accounts of a file. Values may name variables of the environment, as ${NAME}. Unknown members and
// unset variables are errors.
func Load(path string, getenv func(string) (string, bool)) ([]service.Account, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "read the accounts",
			"set CAIRN_CHANNELS to the path of a YAML file; see docs/how-to/channels.md")
	}
	var missing []string
	text := variable.ReplaceAllStringFunc(string(raw), func(ref string) string {
		name := ref[2 : len(ref)-1]
		value, ok := getenv(name)
		if !ok {
			missing = append(missing, name)
		}
		return value
	})
	if len(missing) > 0 {
		return nil, fault.New(fault.Misconfigured, path+" names unset variables: "+strings.Join(missing, ", "),
			"set them in the environment of the gateway")
	}
	var f file
	d := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		return nil, fault.Wrap(err, fault.Misconfigured, "read "+path, "see docs/how-to/channels.md for all members")
	}
	if len(f.Accounts) == 0 {
		return nil, fault.New(fault.Misconfigured, path+" has no accounts", "add one; see docs/how-to/channels.md")
	}
	var out []service.Account
	for name, a := range f.Accounts {
		one, err := a.open(name)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b service.Account) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
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
	case "telegram":
		out.Adapter, err = telegram.New(telegram.Options{Account: name, Token: a.Token, API: a.API})
	case "slack":
		out.Adapter, err = slack.New(slack.Options{Account: name, BotToken: a.BotToken, AppToken: a.AppToken,
			SigningSecret: a.SigningSecret, API: a.API})
	case "webhook":
		out.Adapter, err = webhook.New(webhook.Options{Account: name, Secret: a.Secret, URL: a.URL})
	default:
		err = fault.New(fault.Misconfigured, fmt.Sprintf("unknown platform of account %s: %.40q", name, a.Platform),
			"use telegram, slack or webhook")
	}
	return out, err
}

// Handler is an adapter that gets events by HTTP.
type Handler interface {
	Handler(accept service.Accept) http.Handler
}
