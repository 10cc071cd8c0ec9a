// Package discord connects a bot of Discord: API and gateway version 10.
//
// The gateway of disgo v0.18.15 stores the sequence of an event before it calls the handler, sends that sequence in
// heartbeats, ignores what the handler does, and skips events that it cannot decode. A crash between the sequence
// and the handler would lose a message. So the receive loop is Cairn's: it resumes from the sequence of the last
// event that was stored. If Discord does not resume a session, the loop reads the messages of each known channel
// after the last stored one.
//
// The REST client of disgo is used with two corrections. Its rate limiter keeps a lock if a limit ends after the
// deadline of a request, so it is switched off: a refused request states when to try again. And the client does not
// pass the context to the request, which the function do repairs.
//
// Messages are decoded by types of this package: those of disgo panic or fail on components that they do not know,
// so that one message of another bot would hide a page of messages.
package discord

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	disgo "github.com/disgoorg/disgo/discord"
	"github.com/disgoorg/disgo/rest"
	"github.com/disgoorg/snowflake/v2"
	lru "github.com/hashicorp/golang-lru/v2"

	"cairn/internal/domain/channel"
	"cairn/internal/domain/fault"
	service "cairn/internal/service/channel"
)

// Options configures an account.
type Options struct {
	Account string
	Token   string // of the bot, from the developer portal
	API     string // URL of the API with its version; empty means Discord's own
	// Pause is the longest time before a lost connection is made again; 0 means 5 seconds.
	Pause time.Duration
}

// Adapter connects an account. Its methods may run at the same time.
type Adapter struct {
	Options
	rest  rest.Client
	files *http.Client

	places *lru.Cache[snowflake.ID, place]  // by channel
	sent   *lru.Cache[snowflake.ID, string] // nonces of the latest messages of this process

	mu sync.Mutex
	me snowflake.ID // the bot, 0 until it is known
}

var (
	_ service.Adapter  = (*Adapter)(nil)
	_ service.Streamer = (*Adapter)(nil)
	_ service.Typer    = (*Adapter)(nil)
	_ service.Fetcher  = (*Adapter)(nil)
)

const (
	discordAPI = "https://discord.com/api/v10"
	portal     = "https://discord.com/developers/applications"
	// userAgent has the form that Discord requires of bots.
	userAgent = "DiscordBot (https://github.com/disgoorg/disgo, 0.18.15) cairn"
)

// Times of requests.
const (
	requestTime = 20 * time.Second
	fileTime    = 2 * time.Minute
	answerTime  = 3 * time.Second // in which Discord wants an answer to a pressed button
)

// New returns an Adapter. It sends no request.
func New(o Options) (*Adapter, error) {
	o.Token = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(o.Token), "Bot "))
	if strings.Count(o.Token, ".") != 2 || strings.ContainsAny(o.Token, " \r\n\t") {
		return nil, fault.New(fault.Misconfigured, "missing or invalid token of account "+o.Account,
			"set token to the one on the page Bot of the application at "+portal)
	}
	if o.API == "" {
		o.API = discordAPI
	}
	o.API = strings.TrimRight(o.API, "/")
	if o.Pause == 0 {
		o.Pause = 5 * time.Second
	}
	client := rest.NewClient(o.Token, rest.WithURL(o.API), rest.WithUserAgent(userAgent),
		rest.WithHTTPClient(&http.Client{Timeout: requestTime}), rest.WithRateLimiter(rest.NewNoopRateLimiter()),
		rest.WithLogger(slog.New(slog.DiscardHandler))) // its records have texts of users
	places, _ := lru.New[snowflake.ID, place](maxPlaces) // fails only for a size of 0, as the next line
	sent, _ := lru.New[snowflake.ID, string](maxSent)
	return &Adapter{Options: o, rest: client, files: &http.Client{Timeout: fileTime}, places: places, sent: sent}, nil
}

// Limits returns the limits of messages. Discord counts characters; UTF-16 units are never fewer.
func (a *Adapter) Limits() channel.Limits {
	return channel.Limits{Units: 2000, Parts: 5, Spacing: time.Second, PerSecond: 40, Changes: 900, Decides: true}
}

// Check asks Discord whether it accepts the token, and whether the bot may read messages.
func (a *Adapter) Check(ctx context.Context) error {
	a.mu.Lock()
	a.me = 0 // ask again
	a.mu.Unlock()
	if _, err := a.self(ctx); err != nil {
		return a.explain(err)
	}
	return a.checkIntent(ctx)
}

// self returns the ID of the bot.
func (a *Adapter) self(ctx context.Context) (snowflake.ID, error) {
	a.mu.Lock()
	me := a.me
	a.mu.Unlock()
	if me != 0 {
		return me, nil
	}
	var u user
	if err := a.do(ctx, rest.GetCurrentUser.Compile(nil), nil, &u); err != nil {
		return 0, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.me = u.ID
	return u.ID, nil
}

// explain adds a hint to an error of the first requests.
func (a *Adapter) explain(err error) error {
	var refused *apiError
	if errors.As(err, &refused) && refused.Status == http.StatusUnauthorized {
		return a.denied(err)
	}
	return fault.Wrap(err, fault.Misconfigured, "no answer from Discord for account "+a.Account,
		"check that this machine reaches "+a.API)
}

// denied is the error of a token that Discord does not accept.
func (a *Adapter) denied(cause error) error {
	return fault.Wrap(cause, fault.Misconfigured, "Discord does not accept the token of account "+a.Account,
		"press Reset Token on the page Bot of the application at "+portal+", and set token to the new one")
}

// checkIntent returns an error if the bot may not read the content of messages.
func (a *Adapter) checkIntent(ctx context.Context) error {
	var application struct {
		Flags disgo.ApplicationFlags `json:"flags"`
	}
	if err := a.do(ctx, rest.GetCurrentApplication.Compile(nil), nil, &application); err != nil {
		return a.explain(err)
	}
	const content = disgo.ApplicationFlagGatewayMessageContent | disgo.ApplicationFlagGatewayMessageContentLimited
	if application.Flags&content == 0 {
		return a.missingIntent(nil)
	}
	return nil
}

func (a *Adapter) missingIntent(cause error) error {
	return fault.Wrap(cause, fault.Misconfigured, "the bot of account "+a.Account+" may not read messages",
		"switch on Message Content Intent on the page Bot of the application at "+portal)
}

// Typing shows for 10 seconds that the bot writes.
func (a *Adapter) Typing(ctx context.Context, to channel.Place) error {
	id, err := channelOf(to)
	if err != nil {
		return err
	}
	return refusal(a.do(ctx, rest.SendTyping.Compile(nil, id), nil, nil))
}
