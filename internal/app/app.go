// Package app wires adapters and services: it creates adapters from the configuration and passes
// them to the services. The worker and the command line are thin main packages over an App.
//
//	a, err := app.Open(ctx, config, log)
//	defer a.Close()
//	err = a.Work(ctx, app.Queues())
package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"cairn/internal/adapter/embedding"
	"cairn/internal/adapter/launcher"
	"cairn/internal/adapter/objectstore"
	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/apikey"
	"cairn/internal/service/channel"
	"cairn/internal/service/completion"
	"cairn/internal/service/conversation"
	"cairn/internal/service/distill"
	"cairn/internal/service/dump"
	"cairn/internal/service/erase"
	"cairn/internal/service/evaluation"
	"cairn/internal/service/feedback"
	"cairn/internal/service/health"
	"cairn/internal/service/inbox"
	"cairn/internal/service/inspect"
	"cairn/internal/service/intake"
	"cairn/internal/service/learning"
	"cairn/internal/service/ledger"
	"cairn/internal/service/library"
	"cairn/internal/service/memory"
	"cairn/internal/service/memoryagent"
	"cairn/internal/service/offload"
	"cairn/internal/service/reflection"
	"cairn/internal/service/relay"
	"cairn/internal/service/replystream"
	"cairn/internal/service/schedule"
	"cairn/internal/service/search"
	"cairn/internal/service/tools"
	"cairn/internal/service/vectorspace"
	"cairn/internal/store"
)

// App is an open set of adapters and the services that use them. Its methods are safe for
// concurrent use.
type App struct {
	Config      config.Config
	Log         *slog.Logger
	Store       *store.Store
	Temporal    client.Client           // nil without Temporal
	Payloads    converter.DataConverter // converts workflow payloads
	Failures    converter.FailureConverter
	Codec       converter.PayloadCodec // encrypts payloads; nil without keys
	Blobs       objectstore.Store
	Distill     *distill.Service
	Library     *library.Library
	Finder      search.Finder
	Memory      *memory.PromptService
	LongTerm    *memory.LongTermService
	Tools       *tools.Registry
	Offered     *tools.Registry // tools that other programs can use over MCP
	Inbox       *conversation.Service
	ReviewInbox *inbox.Service // what waits for a person
	Replies     *replystream.Reader
	Completions *completion.Service
	Channels    *channel.Service
	Webhooks    http.Handler // of accounts that get events by HTTP; nil without accounts
	AgentRuns   *agentrun.Service
	Progressive *memoryagent.Service
	Adds        *memoryagent.Adder
	Reflect     *reflection.Service
	Idle        *memoryagent.IdleReader
	Learning    *learning.Service
	Evaluations *evaluation.Service
	Shell       *library.Executor // nil unless commands of skills are enabled
	Erase       *erase.Service
	Offload     *offload.Service
	Dumps       *dump.Service
	Imports     *intake.Service
	Traces      *intake.Traces
	Relay       *relay.Relay
	Driver      launcher.Driver
	Schedules   *schedule.Service
	Sweeper     *schedule.Sweeper
	Curator     *library.Curator
	Embedder    embedding.Embedder // of the configured model
	Space       int16              // of the configured model
	Spaces      *vectorspace.Registry
	Reembed     *vectorspace.Service

	embedderState *embedderState

	Keys          *apikey.Service
	Sessions      *apikey.ConsoleSessions // of the web console
	Explore       *inspect.Service        // read models for people
	Health        *health.Service
	Support       *apikey.Support
	Audit         *inspect.AuditService
	Runs          *inspect.Runs
	Conversations *inspect.Conversations
	Workspaces    *inspect.Workspaces
	Waiter        inspect.Waiter
	Messages      *conversation.Sender
	Feedback      *feedback.Service
	Reflections   *reflection.Requests
}

// Open connects to Postgres and, unless its address is empty, to Temporal. Call Close to release the
// connections.
func Open(ctx context.Context, c config.Config, log *slog.Logger) (*App, error) {
	if c.DatabaseURL == "" {
		return nil, fault.New(fault.Misconfigured, "database not configured",
			"set DATABASE_URL, or start the development stack with `cairn dev`")
	}
	h := &App{Config: c, Log: log}
	var err error
	h.Store, err = store.Open(ctx, c.DatabaseURL, store.Options{MaxConns: int32(c.DatabaseConns),
		Pooler: c.DatabasePooler != "", DirectURL: c.DatabaseDirectURL, RereadURL: c.Reread("DATABASE_URL"),
		RereadDirectURL: c.Reread("CAIRN_DATABASE_DIRECT_URL")})
	if err != nil {
		return nil, err
	}
	if err := h.build(ctx); err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

func (h *App) build(ctx context.Context) (err error) {
	c := h.Config
	if h.Blobs, err = blobs(c); err != nil {
		return fmt.Errorf("open the package store: %w", err)
	}
	if err := h.buildSpaces(ctx); err != nil {
		return err
	}
	model, err := model(c)
	if err != nil {
		return err
	}
	prices, err := prices(c)
	if err != nil {
		return err
	}
	callPorts := ledger.Ports{Store: h.Store, Model: model, Prices: prices, Lease: c.Lease, StoreRetryFor: c.Hold,
		Cap: c.MicrosPerDay, Log: h.Log, Files: h.Store}
	calls := ledger.New(callPorts)
	if err := h.buildMemory(calls); err != nil {
		return err
	}
	transcriber, err := transcriber(c, callPorts)
	if err != nil {
		return err
	}
	if err := h.buildAgents(calls, transcriber); err != nil {
		return err
	}
	if c.TemporalAddress != "" {
		if err := h.dial(); err != nil {
			return err
		}
	}
	h.Learning = h.learning(calls)
	h.Evaluations = h.evaluations(calls, prices)
	h.buildViews()
	h.buildIdle()
	h.buildMaintenance()
	return nil
}

// buildMemory wires the services over skills and memories.
func (h *App) buildMemory(calls *ledger.Ledger) error {
	c := h.Config
	profile, err := searchProfile(c.SearchProfile)
	if err != nil {
		return err
	}
	h.Finder = search.Finder{Index: h.Store.SearchIndex(), Embedder: h.Embedder, Space: h.Space, Spaces: h.Spaces,
		MinCosine: c.RecallMinSim, VectorShare: vectorShare(h.Embedder), Profile: profile}
	models := distillModels(c)
	h.Distill = distill.New(distill.Ports{Store: h.Store, Ledger: calls, Embedder: h.Embedder,
		Space: h.Space, Spaces: h.Spaces, Blobs: h.Blobs, Models: models, Context: contextOf(c, models),
		Cache: cacheOf(c, models["segment"])})
	h.Imports = intake.New(intake.Ports{Store: h.Store.Imports(), Distills: h.Distill,
		DistillSpec: func() distill.Spec { return DistillSpec(h.Config, transcript.ExtractAuto) }})
	h.Traces = intake.NewTraces(intake.TracePorts{Store: h.Store.Traces(), Idle: c.TraceIdle, Log: h.Log})
	h.Library = library.New(library.Ports{Store: h.Store, Embedder: h.Embedder, Space: h.Space,
		Spaces: h.Spaces, Blobs: h.Blobs, NameStyle: c.NameStyle, Finder: h.Finder, KeepVersions: c.KeepVersions,
		Settings: library.WorkspaceSettings(h.Store.Workspaces().Settings)})
	h.Memory = memory.NewPromptService(memory.PromptPorts{Store: h.Store, Embedder: h.Embedder,
		Space: h.Space, Spaces: h.Spaces, Finder: h.Finder})
	h.ReviewInbox = inbox.New(inbox.Ports{Skills: h.Library, Memories: h.Memory, Transcripts: h.Store,
		Updates: learned{func() inbox.Learned { return h.Learning.Updates }},
		Rounds:  learned{func() inbox.Learned { return h.Learning.Rounds }}})
	h.LongTerm = memory.NewLongTermService(memory.Ports{Store: h.Store, Embedder: h.Embedder, Space: h.Space,
		Spaces: h.Spaces, Finder: h.Finder})
	h.Offload = offload.New(offload.Ports{Store: h.Store, Ledger: calls})
	h.Dumps = dump.New(dump.Ports{Store: h.Store.Dumps(), Embedder: h.Embedder, Model: h.Embedder.Model(),
		Dims: h.Embedder.Dims(), Space: h.Space, Spaces: h.Spaces})
	return nil
}

// buildMaintenance wires the background services: schedules, curation, erasure and the relay.
func (h *App) buildMaintenance() {
	c := h.Config
	planner := schedule.Planner{Jitter: c.SweepJitter}
	dispatcher := h.dispatcher()
	h.Schedules = schedule.New(schedule.Ports{Store: h.Store, Starter: dispatcher, Planner: planner})
	h.Sweeper = schedule.NewSweeper(schedule.SweeperPorts{Claims: h.Store.Sweep(), Starter: dispatcher,
		Planner: planner, Log: h.Log})
	h.Curator = library.NewCurator(library.CuratorPorts{Store: h.Store, Embedder: h.Embedder})
	h.Erase = erase.New(erase.Ports{Store: h.Store.Erasures(), Blobs: h.Blobs, Workflows: h.Driver,
		ObjectsOf: distill.PackageObjects, Empty: h.emptyPackages})
	h.Reembed = vectorspace.New(vectorspace.Ports{Store: h.Store.VectorSpaces(), Registry: h.Spaces,
		Starter: h.reembedStarter(), Graph: h.buildGraph, Log: h.Log})
	h.buildChannels()
	h.Relay = relay.New(relay.Ports{
		Store:  h.Store.Outbox(),
		Pruner: h.Store.Pruner(),
		Keep: relay.Retention{Calls: c.RetentionCalls, Runs: c.RetentionRuns, Operations: c.RetentionOplog,
			Audit: c.RetentionAudit},
		Driver:   h.Driver,
		Spaces:   h.Spaces,
		Channels: h.Channels,
		Imports:  h.Imports,
		Traces:   h.Traces,
		Lost:     h.endLost,
		Remove:   h.removePackage,
		Close:    conversationLimits(c).Close,
		Every:    relayEvery,
		Stop:     c.StopTimeout,
		Grace:    max(c.PackageGrace, c.BackupRetention),
		Log:      h.Log,
	})
}

// learning wires the services over memory skills.
func (h *App) learning(calls *ledger.Ledger) *learning.Service {
	p := learning.Ports{Store: h.Store, Memories: h.LongTerm, Asker: calls, Embedder: h.Embedder,
		Controller: policy.PPOLearner{}, Space: h.Space, Log: h.Log}
	if h.Temporal != nil {
		p.Starter = h.Driver
	}
	return learning.New(p)
}

// removePackage deletes the objects of a package.
func (h *App) removePackage(ctx context.Context, key string) error {
	for _, object := range distill.PackageObjects(key) {
		if err := h.Blobs.Delete(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// emptyPackages removes the empty folders of a workspace in a local package store. A bucket has no
// folders.
func (h *App) emptyPackages(ctx context.Context, workspace int64) error {
	if folders, ok := h.Blobs.(interface {
		Empty(ctx context.Context, folder string) error
	}); ok {
		return folders.Empty(ctx, skill.PackageFolder(workspace))
	}
	return nil
}

// Close releases all connections.
func (h *App) Close() {
	if h.Temporal != nil {
		h.Temporal.Close()
	}
	if folder, ok := h.Blobs.(io.Closer); ok {
		_ = folder.Close() // the store buffers nothing, so the error does not matter
	}
	if h.Keys != nil {
		h.Keys.Close()
	}
	h.Store.Close()
}

// blobs opens the package store.
func blobs(c config.Config) (objectstore.Store, error) {
	if strings.EqualFold(c.Backend, "oss") {
		return objectstore.OSS(objectstore.OSSConfig{Endpoint: c.OSSEndpoint, Region: c.OSSRegion, Bucket: c.OSSBucket,
			AccessKeyID: c.OSSKeyID, AccessKeySecret: c.OSSKeySecret,
			SessionToken: c.OSSSessionToken, Dir: c.OSSDir, Signature: c.OSSSignature})
	}
	return objectstore.Local(skillsDir(c))
}

func skillsDir(c config.Config) string {
	if c.SkillsDir != "" {
		return c.SkillsDir
	}
	return filepath.Join(c.Home, "packages")
}
