package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"cairn/internal/adapter/fetch"
	"cairn/internal/adapter/offlinemodel"
	"cairn/internal/app/config"
	"cairn/internal/domain/access"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/domain/skill"
	"cairn/internal/gateway/console"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/service/distill"
	"cairn/internal/service/offload"
)

// Gateway returns the HTTP API over the services of this App.
func (h *App) Gateway(m httpapi.Meter) *httpapi.Gateway {
	s := httpapi.Services{Log: h.Log, Keys: h.Keys, Audit: h.Audit, Runs: h.Runs, Conversations: h.Conversations,
		Workspaces: h.Workspaces, Sessions: h.Sessions, Explore: h.Explore, Health: h.Health,
		Waiter: h.Waiter, Inbox: h.Inbox, Replies: h.Replies, ReplyNews: h.replyNews, Completions: h.Completions,
		People: h.Channels, Webhooks: h.Webhooks,
		Distill: h.Distill, Imports: h.Imports, Traces: h.Traces, Library: h.Library,
		ReviewInbox: h.ReviewInbox, Curator: h.Curator,
		Finder: h.Finder,
		Memory: h.Memory, LongTerm: h.LongTerm, Progressive: h.Progressive, Offload: h.Offload, Dumps: h.Dumps,
		Learning: h.Learning,
		Feedback: h.Feedback, Reflect: h.Reflect, Reflections: h.Reflections, Schedules: h.Schedules, Erase: h.Erase,
		Reembed: h.Reembed,
		Offered: h.Offered, Embedder: h.Embedder, Fetch: fetchPackage,
		Probes: httpapi.Probes{Database: h.askDatabase, Temporal: h.askTemporal, Schema: h.askSchema,
			Embedder: h.CheckEmbedder}}
	if h.Temporal != nil {
		s.Driver = h.Driver
	}
	if h.Codec != nil {
		s.Codec = converter.NewPayloadCodecHTTPHandler(h.Codec)
	}
	g := httpapi.New(s, h.gatewayOptions(), m)
	if h.Config.ConsoleOn() && h.Sessions != nil {
		g.HandleConsole(h.console(g), h.Config.ConsoleAddress() != "")
	}
	return g
}

// console returns the web console over the services of this App.
func (h *App) console(g *httpapi.Gateway) http.Handler {
	return console.New(console.Services{
		Log:           h.Log,
		Sessions:      h.Sessions,
		Keys:          h.Keys,
		Audit:         h.Audit,
		Runs:          h.Runs,
		Conversations: h.Conversations,
		Workspaces:    h.Workspaces,
		Inbox:         h.ReviewInbox,
		Library:       h.Library,
		Memory:        h.Memory,
		LongTerm:      h.LongTerm,
		Finder:        h.Finder,
		Explore:       h.Explore,
		Health:        h.Health,
		Support:       h.Support,
		Channels:      h.Channels,
		Dumps:         h.Dumps,
		Erase:         h.Erase,
		StartErase:    g.StartErase,
		Distill:       h.Distill,
		Edge:          g.Edge,
		Start:         g.Start,
		Send:          g.Send,
		Turns:         h.Inbox,
		Replies:       h.Replies,
		ReplyNews:     h.replyNews,
		Feedback:      h.Feedback,
		Schedules:     h.Schedules,
		Reflect:       h.Reflect,
		Learning:      h.Learning,
	},
		console.Options{PublicBaseURL: h.Config.PublicBaseURL, WorkflowLink: h.WorkflowLink, Model: h.modelName(),
			NameStyle: h.Config.NameStyle, DistillSpec: func() distill.Spec { return DistillSpec(h.Config, "") }})
}

// modelName returns the name of the model for people.
func (h *App) modelName() string {
	if h.Config.Offline() {
		return offlinemodel.ModelName
	}
	return h.Config.Model
}

func (h *App) replyNews(ref run.Ref) (news <-chan struct{}, stop func()) {
	return h.Store.ReplyNews(ref.Run)
}

// Describe returns the OpenAPI document of the gateway. It needs no server.
func Describe(c config.Config) ([]byte, error) {
	return (&App{Config: c, Log: slog.New(slog.DiscardHandler)}).Gateway(httpapi.NoMeter).OpenAPI()
}

func (h *App) gatewayOptions() httpapi.Options {
	c := h.Config
	proxies, _ := c.Proxies() // checked when the configuration was loaded
	origins, _ := c.Origins()
	return httpapi.Options{TrustedProxies: proxies, RequestBytes: c.RequestBytes, RateLimit: c.RateLimit,
		BatchBytes:  c.BatchBytes,
		StopTimeout: c.StopTimeout, DrainDelay: c.DrainDelay,
		PublicBaseURL: c.PublicBaseURL,
		Metrics:       c.Metrics, TemporalUI: c.TemporalUI, MCPName: c.MCPName, NameStyle: c.NameStyle, Model: c.Model,
		OffloadTTL: c.OffloadTTL, Mem0Compat: c.Mem0Compat, WorkflowLink: h.WorkflowLink,
		TurnSpec:  h.turnSpec,
		APIModels: c.Models(), APIOrigins: origins, ToolNames: h.toolNames,
		TakesImages: c.TakesImages,
		OffloadSpec: func() offload.Spec { return OffloadSpec(h.Config) },
		DistillSpec: func(mode, gate, extract string) distill.Spec {
			c := h.Config
			c.Mode, c.Gate = cmp.Or(mode, c.Mode), cmp.Or(gate, c.Gate)
			return DistillSpec(c, extract)
		}}
}

// fetchPackage downloads a package from a public URL.
func fetchPackage(ctx context.Context, url string) ([]byte, error) {
	return fetch.Get(ctx, url, fetch.Options{MaxBytes: skill.MaxPackage})
}

// askDatabase looks up a random API key, which does not exist. The lookup uses the same login, role
// and SQL function as a request.
func (h *App) askDatabase(ctx context.Context) error {
	var random access.KeyHash
	_, _ = rand.Read(random[:]) // never fails
	_, _, err := h.Store.Keys().Principal(ctx, random)
	var known *fault.Error
	if errors.As(err, &known) && known.Code == fault.NotFound {
		return nil
	}
	return err
}

// askSchema compares the version of the database schema with the version of this program.
func (h *App) askSchema(ctx context.Context) (*httpapi.Schema, error) {
	v, err := h.Store.Schema(ctx)
	if err != nil {
		return nil, err
	}
	shown := httpapi.Schema(v)
	return &shown, v.Check()
}

func (h *App) askTemporal(ctx context.Context) error {
	if h.Temporal == nil {
		return fault.New(fault.Unavailable, "Temporal not configured", "set TEMPORAL_ADDRESS")
	}
	if _, err := h.Temporal.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return fault.Wrap(err, fault.Unavailable, "Temporal does not respond",
			"start Temporal; accepted requests are stored and continue when it responds")
	}
	return nil
}
