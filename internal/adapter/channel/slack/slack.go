// Package slack connects an app of Slack: by Socket Mode, or by the Events API over HTTP.
//
// The client for Socket Mode of slack-go v0.35.0 leaves acknowledgements to its caller. But it queues them and writes
// them later, even to another connection, and reports a failed write only as an event. It cannot acknowledge an event
// whose type it does not know, which Slack then repeats and counts as failed. So the loop is Cairn's: it handles one
// envelope after another and acknowledges it on the connection that brought it, after the event is stored. It decodes
// only the members that it reads, so that no message is lost for an unknown form of the others. The library is used for
// the methods, the addresses of connections and the signatures.
package slack

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	slackapi "github.com/slack-go/slack"

	"cairn/internal/adapter/channel/apiclient"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	service "cairn/internal/service/channel"
)

// Options configures an account.
type Options struct {
	Account       string
	BotToken      string // xoxb-
	AppToken      string // xapp-, for Socket Mode
	SigningSecret string // instead of AppToken: events come to Handler
	API           string // URL before the names of methods; empty means Slack's own

	Redial  time.Duration // before the connection after a short one; 0 means 1 s
	Silence time.Duration // a connection without a ping for so long is dead; 0 means 30 s
}

// Adapter connects an account.
type Adapter struct {
	Options
	client *slackapi.Client
	dialer *websocket.Dialer
	names  apiclient.Memo // of users

	mu   sync.Mutex
	self identity // empty until it is known
}

var (
	_ service.Adapter  = (*Adapter)(nil)
	_ service.Streamer = (*Adapter)(nil)
	_ service.Fetcher  = (*Adapter)(nil)
)

// identity is the bot of an account.
type identity struct{ user, bot string }

const (
	requestTime = 20 * time.Second // of a request to a method
	fetchTime   = 5 * time.Minute  // of reading a file
	dialTime    = 20 * time.Second
)

// New returns an Adapter. It sends no request.
func New(o Options) (*Adapter, error) {
	wrong := func(what, hint string) error {
		return fault.New(fault.Misconfigured, what+" of account "+o.Account, hint)
	}
	switch {
	case !strings.HasPrefix(o.BotToken, "xoxb-"):
		return nil, wrong("missing bot_token",
			"set bot_token to the Bot User OAuth Token of the app, which begins with xoxb-")
	case o.AppToken == "" && o.SigningSecret == "":
		return nil, wrong("missing app_token",
			"set app_token to an app-level token (xapp-…) for Socket Mode, or signing_secret for the Events API")
	case o.AppToken != "" && o.SigningSecret != "":
		return nil, wrong("app_token and signing_secret",
			"remove one: app_token is for Socket Mode, signing_secret for the Events API over HTTP")
	case o.AppToken != "" && !strings.HasPrefix(o.AppToken, "xapp-"):
		return nil, wrong("invalid app_token",
			"set app_token to an app-level token with the scope connections:write, which begins with xapp-")
	}
	if o.API == "" {
		o.API = slackapi.APIURL
	}
	o.API = strings.TrimRight(o.API, "/") + "/"
	if o.Redial == 0 {
		o.Redial = time.Second
	}
	if o.Silence == 0 {
		o.Silence = 30 * time.Second
	}
	client := slackapi.New(o.BotToken, slackapi.OptionAppLevelToken(o.AppToken), slackapi.OptionAPIURL(o.API),
		slackapi.OptionHTTPClient(&http.Client{Timeout: fetchTime}))
	dialer := &websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: dialTime}
	return &Adapter{Options: o, client: client, dialer: dialer, names: apiclient.NewMemo()}, nil
}

// Receive reads events by Socket Mode. An account with a signing secret waits: its events come to Handler.
func (a *Adapter) Receive(ctx context.Context, _ string, accept service.Accept) error {
	if a.AppToken == "" {
		<-ctx.Done()
		return ctx.Err()
	}
	return a.receiveSocket(ctx, accept)
}

// whoami returns the bot of the account. Slack is asked until it has answered once.
func (a *Adapter) whoami(ctx context.Context) (identity, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.self.user != "" {
		return a.self, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	me, err := a.client.AuthTestContext(ctx)
	if err != nil {
		return identity{}, a.redact(fmt.Errorf("ask Slack for the bot of account %s: %w", a.Account, err))
	}
	a.self = identity{me.UserID, me.BotID}
	return a.self, nil
}

// is reports whether a message is from the bot itself.
func (i identity) is(user, bot string) bool { return user == i.user || bot != "" && bot == i.bot }

// redact removes credentials from an error.
func (a *Adapter) redact(err error, more ...string) error {
	return apiclient.Redact(err, append(more, a.BotToken, a.AppToken, a.SigningSecret)...)
}

// Limits returns the limits of messages. Slack recommends 4,000 characters; a block of Markdown may have 12,000.
func (a *Adapter) Limits() channel.Limits {
	return channel.Limits{Units: maxText, Parts: 5, Spacing: time.Second, Changes: maxChanges, Decides: true}
}
