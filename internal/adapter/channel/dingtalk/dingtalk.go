// Package dingtalk connects a robot of DingTalk by its Stream mode: a WebSocket with JSON frames.
//
// The library answers a frame after its handler, with status 500 if that failed. But it handles frames in parallel,
// which loses the order of messages, runs handlers without a context, and logs tickets and secrets. So the receive
// loop is Cairn's; types are the library's.
//
// A robot sees the messages of a group only if they mention it. Replies are sent by the API of robots and not by the
// session of a message, because that ends after about 90 minutes. The API takes the ID of a user for a private chat,
// so Place.Chat is "user:" and that ID. For a group, it is the ID of the conversation.
package dingtalk

import (
	"context"
	"net/http"
	"strings"
	"time"

	"cairn/internal/adapter/channel/apiclient"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	service "cairn/internal/service/channel"
)

// Options configures an account.
type Options struct {
	Account      string
	ClientID     string // of the developer console, formerly AppKey
	ClientSecret string
	RobotCode    string        // empty means ClientID
	API          string        // URL of the server; empty means DingTalk's own
	Ping         time.Duration // between two pings; 0 means a minute
}

// Adapter connects an account.
type Adapter struct {
	Options
	client *http.Client
	files  *http.Client     // for downloads
	token  *apiclient.Token // of the app
}

var (
	_ service.Adapter = (*Adapter)(nil)
	_ service.Fetcher = (*Adapter)(nil)
)

const dingtalkAPI = "https://api.dingtalk.com"

// Times of requests.
const (
	sendTime = 20 * time.Second
	fileTime = 5 * time.Minute

	tokenMargin = 5 * time.Minute // before the end of a token, when it is renewed
)

// New returns an Adapter. It sends no request.
func New(o Options) (*Adapter, error) {
	if o.ClientID == "" || o.ClientSecret == "" {
		return nil, fault.New(fault.Misconfigured, "missing client_id or client_secret of account "+o.Account,
			"set both to the values under Credentials in the developer console")
	}
	if o.API == "" {
		o.API = dingtalkAPI
	}
	o.API = strings.TrimRight(o.API, "/")
	if o.RobotCode == "" {
		o.RobotCode = o.ClientID
	}
	if o.Ping <= 0 {
		o.Ping = time.Minute
	}
	a := &Adapter{Options: o, client: &http.Client{Timeout: sendTime}, files: &http.Client{Timeout: fileTime}}
	a.token = apiclient.NewToken(tokenMargin, a.fetchToken)
	return a, nil
}

// Limits returns the limits of messages. DingTalk states none of the length of a message, and 20 a minute.
func (a *Adapter) Limits() channel.Limits {
	return channel.Limits{Units: 5000, Parts: 5, Spacing: 3 * time.Second}
}

// Check asks the server whether it accepts the credentials for requests and for connections.
func (a *Adapter) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	if _, err := a.token.Get(ctx); err != nil {
		return fault.Wrap(err, fault.Misconfigured, "DingTalk does not accept account "+a.Account,
			"check client_id and client_secret, and that this machine reaches "+a.API)
	}
	if _, err := a.endpoint(ctx); err != nil {
		return fault.Wrap(err, fault.Misconfigured, "DingTalk refuses the connection of account "+a.Account,
			"add a robot in the developer console, choose the Stream mode, and publish the app")
	}
	return nil
}
