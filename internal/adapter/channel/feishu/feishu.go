// Package feishu connects a bot of Feishu or Lark by a long connection: a WebSocket with protobuf frames.
//
// The library's client of long connections (package ws) answers a frame after its handler, with status 500 if that
// failed. But it handles frames in parallel, which loses the order of messages, it does not end with its context, and
// it imports the packages of all services. So the receive loop and the frames are Cairn's; types and requests are the
// library's. Its cache of tokens is one for all servers, so tokens are Cairn's, too.
//
// Feishu delivers a message again if it is not acknowledged within 3 seconds, and sometimes although it is. Its
// documentation asks to recognize messages by message_id, because event_id may differ.
package feishu

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"

	"cairn/internal/adapter/channel/apiclient"
	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	service "cairn/internal/service/channel"
)

// Options configures an account.
type Options struct {
	Account   string
	AppID     string // of the developer console, such as cli_a1b2
	AppSecret string
	API       string // URL of the server; empty means Feishu's own. Lark has https://open.larksuite.com
}

// Adapter connects an account.
type Adapter struct {
	Options
	config *larkcore.Config
	files  *http.Client     // for downloads
	token  *apiclient.Token // of the tenant

	people   apiclient.Memo // names of users
	chats    apiclient.Memo // modes of chats
	partners apiclient.Memo // users of private chats
}

var (
	_ service.Adapter  = (*Adapter)(nil)
	_ service.Streamer = (*Adapter)(nil)
	_ service.Fetcher  = (*Adapter)(nil)
)

const feishuAPI = "https://open.feishu.cn"

// Times of requests.
const (
	sendTime  = 20 * time.Second
	quickTime = time.Second // of requests while an event waits: it must be acknowledged within 3 s
	fileTime  = 5 * time.Minute

	tokenMargin = 10 * time.Minute    // before the end of a token, when it is renewed
	placeLife   = 30 * 24 * time.Hour // that the mode and the user of a chat are kept; they do not change
)

// New returns an Adapter. It sends no request.
func New(o Options) (*Adapter, error) {
	if o.AppID == "" || o.AppSecret == "" {
		return nil, fault.New(fault.Misconfigured, "missing app_id or app_secret of account "+o.Account,
			"set both to the values under Credentials & Basic Info in the developer console")
	}
	if o.API == "" {
		o.API = feishuAPI
	}
	o.API = strings.TrimRight(o.API, "/")
	config := &larkcore.Config{
		BaseUrl:      o.API,
		AppId:        o.AppID,
		AppSecret:    o.AppSecret,
		AppType:      larkcore.AppTypeSelfBuilt,
		HttpClient:   &http.Client{Timeout: sendTime},
		LogLevel:     larkcore.LogLevelError + 1, // none
		Serializable: &serializer{},
	}
	larkcore.NewLogger(config)
	a := &Adapter{Options: o, config: config, files: &http.Client{Timeout: fileTime}, people: apiclient.NewMemo(),
		chats: apiclient.NewMemo(), partners: apiclient.NewMemo()}
	a.token = apiclient.NewToken(tokenMargin, a.fetchToken)
	return a, nil
}

// Limits returns the limits of messages. A card may have 30 KB, and a unit needs at most 5 bytes in it. Feishu
// recognizes the key of a message for an hour.
func (a *Adapter) Limits() channel.Limits {
	return channel.Limits{Units: 5000, Parts: 5, Spacing: 200 * time.Millisecond, PerSecond: 16, Changes: 600,
		Decides: true}
}

// scopes are the permissions that Cairn needs. One of each group is enough.
var scopes = [][]string{
	{"im:message:send_as_bot", "im:message", "im:message:send"},
	{"im:message.p2p_msg:readonly", "im:message.p2p_msg", "im:message"},
}

// Check asks the server whether it accepts the credentials, and whether the app is allowed to do what Cairn does.
func (a *Adapter) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	if _, err := a.token.Get(ctx); err != nil {
		return fault.Wrap(err, fault.Misconfigured, "Feishu does not accept account "+a.Account,
			"check app_id and app_secret, and that this machine reaches "+a.API)
	}
	if _, err := a.me(ctx); err != nil {
		return fault.Wrap(err, fault.Misconfigured, "account "+a.Account+" has no bot",
			"add the feature Bot in the developer console, and publish a version of the app")
	}
	granted, err := a.granted(ctx)
	if err != nil {
		return fault.Wrap(err, fault.Misconfigured, "read the permissions of account "+a.Account,
			"publish a version of the app in the developer console")
	}
	for _, group := range scopes {
		if !slices.ContainsFunc(group, func(scope string) bool { return slices.Contains(granted, scope) }) {
			return fault.New(fault.Misconfigured, "account "+a.Account+" lacks the permission "+group[0],
				"add it under Permissions & Scopes in the developer console, and publish a version of the app")
		}
	}
	if _, err := a.endpoint(ctx); err != nil {
		return fault.Wrap(err, fault.Misconfigured, "Feishu refuses the long connection of account "+a.Account,
			"choose the long connection under Events & Callbacks in the developer console")
	}
	return nil
}

// grantedStatus is the status of a permission that the tenant has granted.
const grantedStatus = 1

func (a *Adapter) granted(ctx context.Context) ([]string, error) {
	var body struct {
		Data struct {
			Scopes []struct {
				Name   string `json:"scope_name"`
				Status int    `json:"grant_status"`
			} `json:"scopes"`
		} `json:"data"`
	}
	err := a.request(ctx, http.MethodGet, "/open-apis/application/v6/scopes", nil, nil, &body)
	var out []string
	for _, s := range body.Data.Scopes {
		if s.Status == grantedStatus {
			out = append(out, s.Name)
		}
	}
	return out, err
}

// me returns the open_id of the bot.
func (a *Adapter) me(ctx context.Context) (string, error) {
	var body struct {
		Bot struct {
			OpenID string `json:"open_id"`
		} `json:"bot"`
	}
	err := a.request(ctx, http.MethodGet, "/open-apis/bot/v3/info", nil, nil, &body)
	if err == nil && body.Bot.OpenID == "" {
		err = errors.New("the server states no open_id of the bot")
	}
	return body.Bot.OpenID, err
}
