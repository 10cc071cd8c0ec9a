package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/worker"

	"cairn/activities"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/internal/service/agentrun"
	"cairn/workflows"
)

// relayEvery is how soon something accepted is noticed whose workflow was not
// started by whoever accepted it.
const relayEvery = time.Second

// Queues are the task queues that a worker serves unless it is told otherwise.
func Queues() []string { return []string{contract.QueueMain, contract.QueueLLM, contract.QueueBatch} }

// allQueues are all task queues. A worker of the last one runs commands of skills, in
// sandboxes: it has to be asked for.
func allQueues() []string { return append(Queues(), contract.QueueSandbox) }

// Work hosts workflows and activities of the named queues until ctx ends, then
// lets what is under way finish for the configured time. The relay runs beside
// the main queue. It fails when a queue cannot be started, or is turned down by
// the server for longer than the SDK bears it.
func (h *App) Work(ctx context.Context, queues []string) error {
	var workers []worker.Worker
	failed := make(chan error, len(queues)) // one each: the SDK tells of the first only
	for _, q := range queues {
		if !slices.Contains(allQueues(), q) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("there is no queue %q", q),
				"use "+strings.Join(allQueues(), ", "))
		}
		if q == contract.QueueSandbox {
			if err := h.runCommands(ctx); err != nil {
				return err
			}
		}
		workers = append(workers, h.worker(q, failed))
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer func() { cancel(); running.Wait() }() // in this order: the relay runs until it is told
	if slices.Contains(queues, contract.QueueMain) {
		running.Go(func() { h.Relay.Run(ctx) })
		running.Go(func() { h.tendGraphs(ctx) })
	}
	for i, w := range workers {
		if err := w.Start(); err != nil {
			return h.classifyTemporalError(err, "the worker cannot start on queue "+queues[i])
		}
		defer w.Stop()
	}
	if slices.Contains(queues, contract.QueueMain) && h.Config.SweepEvery > 0 {
		running.Go(func() { h.keepSweeping(ctx) })
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return h.classifyTemporalError(err, "Temporal gives the worker no more tasks")
	}
}

// classifyTemporalError classes an error of Temporal's: what only an operator can mend, and
// what passes. A namespace that is not there may be on its way: a server that is
// set up registers it after it has begun to answer.
func (h *App) classifyTemporalError(err error, message string) error {
	var (
		missing *serviceerror.NamespaceNotFound
		denied  *serviceerror.PermissionDenied
		old     *serviceerror.ClientVersionNotSupported
	)
	switch {
	case errors.As(err, &missing):
		return fault.Wrap(err, fault.Unavailable, message,
			"register the namespace "+h.Config.TemporalNamespace+", or correct TEMPORAL_NAMESPACE")
	case errors.As(err, &denied):
		return fault.Wrap(err, fault.Misconfigured, message,
			"check TEMPORAL_API_KEY or the client certificate, and their rights in the namespace "+
				h.Config.TemporalNamespace)
	case errors.As(err, &old):
		return fault.Wrap(err, fault.Misconfigured, message,
			"the server and this program do not fit together: update the older one")
	}
	return fault.Wrap(err, fault.Unavailable, message, "start it, or use the development stack: cairn dev")
}

func (h *App) worker(queue string, failed chan<- error) worker.Worker {
	tasks := activities.Distill{Service: h.Distill}
	conversations := activities.AgentRuns{Service: h.AgentRuns, Closer: h.Inbox, Approver: approver{h},
		Spec: func() agentrun.Spec { return NudgeSpec(h.Config) }}
	erasing := activities.Erase{Service: h.Erase}
	due := activities.Sweep{Sweeper: h.Sweeper, Curator: h.Curator}
	skills := activities.MemorySkills{Builds: h.Learning.Builds, Trainings: h.Learning.Trainings,
		Rounds:  h.Learning.Rounds,
		Updates: h.Learning.Updates, Probes: h.Learning.Probes}
	memoryAgents := activities.Agents{Service: h.Progressive, Idle: h.Idle.Read}
	reflections := activities.Reflect{Open: h.Reflections.Open, Distill: h.Idle.ReadDay}
	offloads := activities.Offload{Service: h.Offload}
	options := worker.Options{WorkerStopTimeout: h.Config.StopTimeout, StickyScheduleToStartTimeout: stickyTimeout,
		MaxConcurrentActivityExecutionSize: databaseSlots(h.Config.DatabaseConns),
		// The SDK gives all but one of them to workflows that are in the cache once
		// there are some: with two, every new workflow waits for a single one.
		MaxConcurrentWorkflowTaskPollers: h.Config.Pollers, MaxConcurrentActivityTaskPollers: h.Config.Pollers,
		// Left alone the SDK reports after four fifths of the time: a busy machine
		// then takes a worker that lives for dead.
		MaxHeartbeatThrottleInterval: h.Config.Heartbeat / 4,
		OnFatalError:                 func(err error) { failed <- err }}
	switch queue {
	case contract.QueueLLM: // waits for endpoints, costs next to nothing
		options.MaxConcurrentActivityExecutionSize = h.Config.LLMSlots
	case contract.QueueBatch:
		options.DisableWorkflowWorker = true
	case contract.QueueSandbox:
		options.DisableWorkflowWorker, options.MaxConcurrentActivityExecutionSize = true, h.Config.SandboxSlots
	}
	w := worker.New(h.Temporal, queue, options)
	switch queue {
	case contract.QueueMain:
		workflows.Register(w)
		tasks.RegisterMain(w)
		conversations.RegisterMain(w)
		erasing.RegisterMain(w)
		due.RegisterMain(w)
		memoryAgents.RegisterMain(w)
		reflections.RegisterMain(w)
		skills.RegisterMain(w)
		offloads.RegisterMain(w)
	case contract.QueueLLM:
		// A turn and a distillation run where their steps run: the server then hands a step out with
		// its answer to the workflow task that asked for it, and nobody has to poll for it.
		workflows.RegisterNearModels(w)
		tasks.RegisterLLM(w)
		conversations.RegisterLLM(w)
		skills.RegisterLLM(w)
		memoryAgents.RegisterSteps(w)
		offloads.RegisterLLM(w)
		memoryAgents.RegisterLLM(w)
	case contract.QueueBatch:
		tasks.RegisterBatch(w)
		conversations.RegisterBatch(w)
		skills.RegisterBatch(w)
		memoryAgents.RegisterSteps(w)
	case contract.QueueSandbox:
		conversations.RegisterSandbox(w)
	}
	return w
}

// stickyTimeout is how long a workflow waits for the worker that has it in its
// cache before any other may take it: short, for a killed worker never answers.
const stickyTimeout = 2 * time.Second

// databaseSlots lets a few more activities in than there are connections.
func databaseSlots(conns int) int { return 2 * conns }
