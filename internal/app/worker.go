package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"cairn/activities"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	"cairn/workflows"
)

// relayEvery is the polling interval of the relay, which starts the workflows of accepted runs that
// the accepting process did not start.
const relayEvery = time.Second

// Queues returns the task queues that a worker serves by default.
func Queues() []string { return []string{contract.QueueMain, contract.QueueLLM, contract.QueueBatch} }

// allQueues also contains the sandbox queue, which runs commands of skills and must be requested.
func allQueues() []string { return append(Queues(), contract.QueueSandbox) }

// Work serves workflows and activities of the named queues until ctx ends. Then it waits up to
// CAIRN_STOP_TIMEOUT for activities in progress. A process with the main queue also runs the relay.
// Work returns an error if a queue cannot be started, or if the server rejects a worker for longer
// than the SDK tolerates.
func (h *App) Work(ctx context.Context, queues []string) error {
	if err := h.checkRetention(ctx); err != nil {
		return err
	}
	var workers []worker.Worker
	beating := slices.Clone(queues)
	failed := make(chan error, len(queues)) // one each: the SDK reports the first error only
	for _, q := range queues {
		if !slices.Contains(allQueues(), q) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("unknown queue %q", q),
				"use "+strings.Join(allQueues(), ", "))
		}
		if q == contract.QueueSandbox {
			able, err := h.runCommands(ctx)
			if err != nil {
				return err
			}
			if !able {
				beating = slices.DeleteFunc(beating, func(b string) bool { return b == q })
			}
		}
		workers = append(workers, h.worker(q, failed))
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer func() { cancel(); running.Wait() }() // the relay runs until its context ends
	if slices.Contains(queues, contract.QueueMain) {
		running.Go(func() { _ = h.CheckEmbedder(ctx) }) // logs a failure
		running.Go(func() { h.Relay.Run(ctx) })
		running.Go(func() { h.maintainVectors(ctx) })
		running.Go(func() { h.recountTerms(ctx) })
		running.Go(func() { h.keepPruning(ctx) })
	}
	for i, w := range workers {
		if err := w.Start(); err != nil {
			return h.classifyTemporalError(err, "start the worker on queue "+queues[i])
		}
		defer w.Stop()
	}
	running.Go(func() { h.keepBeating(ctx, beating) })
	if slices.Contains(queues, contract.QueueMain) && h.Config.SweepEvery > 0 {
		running.Go(func() { h.keepSweeping(ctx) })
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return h.classifyTemporalError(err, "Temporal rejects the worker")
	}
}

// workerOptions returns the limits of a worker of a queue. It sends a fatal error to failed.
func (h *App) workerOptions(queue string, failed chan<- error) worker.Options {
	options := worker.Options{WorkerStopTimeout: h.Config.StopTimeout, StickyScheduleToStartTimeout: stickyTimeout,
		MaxConcurrentActivityExecutionSize: databaseSlots(h.Config.DatabaseConns),
		// Once workflows are cached, the SDK uses all but one poller for them. With two pollers, all
		// new workflows wait for a single one.
		MaxConcurrentWorkflowTaskPollers: h.Config.Pollers, MaxConcurrentActivityTaskPollers: h.Config.Pollers,
		// By default the SDK sends heartbeats after 80 % of the timeout. On a busy machine, Temporal
		// would then consider a live worker dead.
		MaxHeartbeatThrottleInterval: h.Config.Heartbeat / 4,
		OnFatalError:                 func(err error) { failed <- err },
		Interceptors: []interceptor.WorkerInterceptor{
			&activities.Incarnations{CountLost: h.Store.CountLostCommit, Log: h.Log}}}
	switch queue {
	case contract.QueueLLM: // waits for endpoints and needs few resources
		options.MaxConcurrentActivityExecutionSize = h.Config.LLMSlots
	case contract.QueueBatch:
		options.DisableWorkflowWorker = true
	case contract.QueueSandbox:
		options.DisableWorkflowWorker, options.MaxConcurrentActivityExecutionSize = true, h.Config.SandboxSlots
	}
	return options
}

func (h *App) worker(queue string, failed chan<- error) worker.Worker {
	tasks := activities.Distill{Service: h.Distill}
	conversations := activities.AgentRuns{Service: h.AgentRuns, Conversations: h.Inbox, Approve: h.decideChange}
	erasing := activities.Erase{Service: h.Erase}
	due := activities.Sweep{Sweeper: h.Sweeper, Curator: h.Curator}
	skills := activities.MemorySkills{Builds: h.Learning.Builds, Trainings: h.Learning.Trainings,
		Rounds:  h.Learning.Rounds,
		Updates: h.Learning.Updates, Probes: h.Learning.Probes}
	evaluations := activities.Evaluations{Service: h.Evaluations}
	adds := activities.Adds{Service: h.Adds}
	memoryAgents := activities.Agents{Service: h.Progressive, Idle: h.Idle}
	reflections := activities.Reflect{Reflections: h.Reflections, Idle: h.Idle}
	offloads := activities.Offload{Service: h.Offload}
	reembeds := activities.Reembed{Service: h.Reembed}
	deliveries := activities.Deliver{Service: h.Channels}
	w := worker.New(h.Temporal, queue, h.workerOptions(queue, failed))
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
		evaluations.RegisterMain(w)
		offloads.RegisterMain(w)
		reembeds.RegisterMain(w)
		deliveries.RegisterMain(w)
	case contract.QueueLLM:
		// Turns and distillations run on the queue of their steps. The server then returns a step in
		// its response to the workflow task that scheduled it, which saves a poll.
		workflows.RegisterNearModels(w)
		tasks.RegisterLLM(w)
		conversations.RegisterLLM(w)
		skills.RegisterLLM(w)
		memoryAgents.RegisterSteps(w)
		offloads.RegisterLLM(w)
		reembeds.RegisterLLM(w)
		memoryAgents.RegisterLLM(w)
		adds.RegisterLLM(w)
	case contract.QueueBatch:
		tasks.RegisterBatch(w)
		conversations.RegisterBatch(w)
		skills.RegisterBatch(w)
		evaluations.RegisterBatch(w)
		memoryAgents.RegisterSteps(w)
	case contract.QueueSandbox:
		conversations.RegisterSandbox(w)
	}
	return w
}

// stickyTimeout is how long a workflow task waits for the worker that caches the workflow before any
// worker can take it. It is short because a killed worker never responds.
const stickyTimeout = 2 * time.Second

// databaseSlots allows more activities than connections, because activities do not use a connection
// all the time.
func databaseSlots(conns int) int { return 2 * conns }
