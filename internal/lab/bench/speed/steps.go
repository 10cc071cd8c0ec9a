package speed

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/run"
)

// Step is a part of the longest chain of a distillation: an activity, or the start of a
// workflow.
type Step struct {
	Name   string        `json:"name"`
	Decide time.Duration `json:"decide_ns"` // time of the workflow task since the previous step
	Queue  time.Duration `json:"queue_ns"`  // time until a worker started it
	Work   time.Duration `json:"work_ns"`
	Model  time.Duration `json:"model_ns"` // part of Work that waits for the model
}

// Own is the time of the step without the model.
func (s Step) Own() time.Duration { return s.Decide + s.Queue + s.Work - s.Model }

// calls is the number of sequential model calls of a step.
var calls = map[string]int{contract.Segment: 1, contract.Draft: 1, contract.WriteFiles: 1}

// stepped is an activity in the history.
type stepped struct {
	name                       string
	scheduled, started, closed time.Time
}

// story is the history of one workflow.
type story struct {
	began      time.Time
	activities []stepped
	children   []string
}

// steps returns the longest chain in the histories of r and its last child, up to the commit
// that ends the run. Callers do not wait for later steps.
func (b *bench) steps(ctx context.Context, r run.Run) ([]Step, error) {
	parent, err := b.read(ctx, r.WorkflowID)
	if err != nil {
		return nil, err
	}
	var last story
	var at time.Time
	for _, id := range parent.children {
		child, err := b.read(ctx, id)
		if err != nil {
			return nil, err
		}
		if n := len(child.activities); n > 0 && child.activities[n-1].closed.After(at) {
			at, last = child.activities[n-1].closed, child
		}
	}
	var out []Step
	at = parent.began
	add := func(as []stepped) {
		slices.SortFunc(as, func(a, b stepped) int { return a.closed.Compare(b.closed) })
		for _, a := range as {
			if a.scheduled.Before(at) { // not in the chain: the other file
				out[len(out)-1].Work += a.closed.Sub(at)
				at = a.closed
				continue
			}
			s := Step{Name: a.name, Decide: a.scheduled.Sub(at), Queue: a.started.Sub(a.scheduled),
				Work: a.closed.Sub(a.started)}
			s.Model = time.Duration(calls[a.name]) * b.options.Call
			out = append(out, s)
			at = a.closed
		}
	}
	closing := slices.IndexFunc(parent.activities, func(a stepped) bool { return a.name == contract.CloseRun })
	if closing < 0 || len(parent.children) == 0 {
		return nil, fmt.Errorf("read the history of %s: no children or no end", r.WorkflowID)
	}
	add(parent.activities[:closing])
	out = append(out, Step{Name: "child begins", Decide: last.began.Sub(at)})
	at = last.began
	add(last.activities)
	return out, nil
}

func (b *bench) read(ctx context.Context, id string) (s story, err error) {
	byEvent := map[int64]*stepped{}
	events := b.host.Temporal.GetWorkflowHistory(ctx, id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return s, fmt.Errorf("read the history of %s: %w", id, err)
		}
		at := event.GetEventTime().AsTime()
		switch x := event.GetAttributes().(type) {
		case *history.HistoryEvent_WorkflowExecutionStartedEventAttributes:
			s.began = at
		case *history.HistoryEvent_ChildWorkflowExecutionStartedEventAttributes:
			s.children = append(s.children, x.ChildWorkflowExecutionStartedEventAttributes.GetWorkflowExecution().
				GetWorkflowId())
		case *history.HistoryEvent_ActivityTaskScheduledEventAttributes:
			byEvent[event.GetEventId()] = &stepped{
				name: x.ActivityTaskScheduledEventAttributes.GetActivityType().GetName(), scheduled: at}
		case *history.HistoryEvent_ActivityTaskStartedEventAttributes:
			byEvent[x.ActivityTaskStartedEventAttributes.GetScheduledEventId()].started = at
		case *history.HistoryEvent_ActivityTaskCompletedEventAttributes:
			a := byEvent[x.ActivityTaskCompletedEventAttributes.GetScheduledEventId()]
			a.closed = at
			s.activities = append(s.activities, *a)
		}
	}
	return s, nil
}
