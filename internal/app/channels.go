package app

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"cairn/activities"
	adapter "cairn/internal/adapter/channel"
	"cairn/internal/adapter/filetext"
	"cairn/internal/domain/agent"
	domain "cairn/internal/domain/channel"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/channel"
	"cairn/internal/service/chatcommand"
	"cairn/internal/service/distill"
)

// buildChannels wires the service behind chat platforms.
func (h *App) buildChannels() {
	p := channel.Ports{
		Store:      h.Store.Channels(),
		Replies:    chatReplies{h.Replies, h.Store},
		Workspaces: h.Store,
		Inbox:      h.Inbox,
		Settings:   h.Workspaces.Settings,
		FileText:   filetext.Of,
		Images:     TurnSpec(h.Config).Images,
		Voice:      h.Config.TranscribeModel != "",
		TurnSpec:   func() agentrun.Spec { return TurnSpec(h.Config) },
		Log:        h.Log,
	}
	if h.Temporal != nil {
		p.Driver = h.Driver
	}
	commands := chatcommand.Ports{
		Conversations: h.Conversations,
		Skills:        h.Library,
		Memories:      h.Memory,
		Inbox:         h.ReviewInbox,
		LongTerm:      h.LongTerm,
		Workspaces:    h.Workspaces,
		Runs:          h.Runs,
		Schedules:     h.Schedules,
		Distills:      h.Distill,
		DistillSpec:   func() distill.Spec { return DistillSpec(h.Config, transcript.ExtractAuto) },
		Summaries:     h.Progressive,
		TurnSpec:      p.TurnSpec,
		Reflections:   h.Reflections,
		Links:         links{h},
	}
	if h.Temporal != nil {
		commands.Starter = h.Driver
	}
	p.Commands = chatcommand.New(commands)
	h.Channels = channel.New(p)
}

// links joins users by the service behind chat platforms, which the commands are a part of.
type links struct{ app *App }

func (l links) LinkCode(ctx context.Context, account, user, name string) (string, error) {
	return l.app.Channels.LinkCode(ctx, account, user, name)
}

func (l links) Link(ctx context.Context, account, user, code string) (string, error) {
	return l.app.Channels.Link(ctx, account, user, code)
}

// OpenAccounts reads the accounts of the configuration and registers them.
func (h *App) OpenAccounts(ctx context.Context) ([]channel.Account, error) {
	accounts, err := h.ReadAccounts()
	if err == nil {
		err = h.Channels.Register(ctx, accounts)
	}
	return accounts, err
}

// ReadAccounts reads the accounts of the configuration.
func (h *App) ReadAccounts() ([]channel.Account, error) {
	if h.Config.Channels == "" {
		return nil, fault.New(fault.Misconfigured, "no accounts of chat platforms",
			"set CAIRN_CHANNELS to the path of a YAML file; see docs/how-to/channels.md")
	}
	accounts, err := adapter.Load(h.Config.Channels, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	for _, a := range accounts {
		if err := h.checkDenied(a); err != nil {
			return nil, err
		}
	}
	return accounts, nil
}

// checkDenied checks that the tools that a profile denies exist.
func (h *App) checkDenied(a channel.Account) error {
	offered := append(h.AgentRuns.Tools.Offered(agent.OriginAgent),
		h.AgentRuns.MemoryAgentTools.Offered(agent.OriginAgent)...)
	var names []string
	for _, t := range offered {
		names = append(names, t.Name)
	}
	for _, denied := range a.Profile.Deny {
		if !slices.Contains(names, denied) {
			slices.Sort(names)
			return fault.New(fault.Misconfigured, fmt.Sprintf("the profile of account %s denies an unknown tool: %.60q",
				a.Name, denied), "use names of "+strings.Join(slices.Compact(names), ", "))
		}
	}
	return nil
}

// ServeAccounts receives the events of accounts and sends their messages until ctx ends. If Postgres or Temporal is not
// available, it logs a warning and tries again.
func (h *App) ServeAccounts(ctx context.Context, accounts []channel.Account) error {
	for {
		err := h.serveAccounts(ctx, accounts)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the process stops
		}
		if err == nil || !temporary(err) {
			return err
		}
		h.Log.Warn("accounts interrupted", "error", err, "hint", fault.From(err).Hint, "retry_after", maxPause)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(maxPause):
		}
	}
}

func (h *App) serveAccounts(ctx context.Context, accounts []channel.Account) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, len(accounts))
	for _, a := range accounts {
		running.Go(func() {
			if err := h.Channels.Receive(ctx, a); err != nil {
				failed <- err
			}
		})
		w := h.accountWorker(a, failed)
		if err := w.Start(); err != nil {
			return h.classifyTemporalError(err, "start the worker of account "+a.Name)
		}
		defer w.Stop()
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

// sendsAtOnce limits the messages that are sent to different chats of an account at the same time.
const sendsAtOnce = 16

// accountWorker sends the messages of an account.
func (h *App) accountWorker(a channel.Account, failed chan<- error) worker.Worker {
	limits := a.Adapter.Limits()
	w := worker.New(h.Temporal, contract.DeliverQueue(a.Name), worker.Options{WorkerStopTimeout: h.Config.StopTimeout,
		DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: sendsAtOnce,
		TaskQueueActivitiesPerSecond: limits.PerSecond, OnFatalError: func(err error) { failed <- err },
		Interceptors: []interceptor.WorkerInterceptor{
			&activities.Incarnations{CountLost: h.Store.CountLostCommit, Log: h.Log}}})
	activities.Deliver{Service: h.Channels, Account: a}.RegisterAccount(w)
	return w
}

// WebhookHandler serves the accounts that get their events by HTTP: POST /channels/<account>/events.
func (h *App) WebhookHandler(accounts []channel.Account) http.Handler {
	mux := http.NewServeMux()
	for _, a := range accounts {
		if hooked, ok := a.Adapter.(adapter.Handler); ok {
			mux.Handle("POST /channels/"+a.Name+"/events", hooked.Handler(
				func(ctx context.Context, events []domain.Event, _ string) error {
					err := h.Channels.AcceptEvents(ctx, a, events)
					if err != nil {
						h.Log.Warn("events not stored", "account", a.Name, "error", err)
					}
					return err
				}))
		}
	}
	return mux
}
