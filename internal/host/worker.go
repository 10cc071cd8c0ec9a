package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/worker"

	"cairn/activities"
	"cairn/internal/fault"
	"cairn/internal/flow"
	"cairn/workflows"
)

// relayEvery is how soon something accepted is noticed whose workflow was not
// started by whoever accepted it.
const relayEvery = time.Second

// Queues are all task queues.
func Queues() []string { return []string{flow.QueueMain, flow.QueueLLM, flow.QueueBatch} }

// Work hosts workflows and activities of the named queues until ctx ends, then
// lets what is under way finish for the configured time. The relay runs beside
// the main queue.
func (h *Host) Work(ctx context.Context, queues []string) error {
	var workers []worker.Worker
	for _, q := range queues {
		if !slices.Contains(Queues(), q) {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("there is no queue %q", q), "use "+strings.Join(Queues(), ", "))
		}
		workers = append(workers, h.worker(q))
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer func() { cancel(); running.Wait() }() // in this order: the relay runs until it is told
	if slices.Contains(queues, flow.QueueMain) {
		running.Go(func() { h.Relay.Run(ctx) })
	}
	for i, w := range workers {
		if err := w.Start(); err != nil {
			return fault.Wrap(err, fault.Unavailable, "the worker cannot start on queue "+queues[i], "")
		}
		defer w.Stop()
	}
	<-ctx.Done()
	return nil
}

func (h *Host) worker(queue string) worker.Worker {
	tasks := activities.Distill{Service: h.Distill}
	options := worker.Options{WorkerStopTimeout: h.Config.StopTimeout, StickyScheduleToStartTimeout: stickyTimeout, MaxConcurrentActivityExecutionSize: databaseSlots(h.Config.DatabaseConns)}
	switch queue {
	case flow.QueueLLM: // waits for endpoints, costs next to nothing
		options.MaxConcurrentActivityExecutionSize = h.Config.LLMSlots
		options.DisableWorkflowWorker = true
	case flow.QueueBatch:
		options.DisableWorkflowWorker = true
	}
	w := worker.New(h.Temporal, queue, options)
	switch queue {
	case flow.QueueMain:
		workflows.Register(w)
		tasks.RegisterMain(w)
	case flow.QueueLLM:
		tasks.RegisterLLM(w)
	case flow.QueueBatch:
		tasks.RegisterBatch(w)
	}
	return w
}

// stickyTimeout is how long a workflow waits for the worker that has it in its
// cache before any other may take it: short, for a killed worker never answers.
const stickyTimeout = 2 * time.Second

// databaseSlots lets a few more activities in than there are connections.
func databaseSlots(conns int) int { return 2 * conns }
