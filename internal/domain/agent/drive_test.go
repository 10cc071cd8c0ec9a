package agent_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"cairn/internal/domain/agent"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// trace records one run: its events and the effect of each.
type trace struct {
	events  []agent.Event
	states  []agent.State
	effects []agent.Effect
}

// stepsAllowed is far beyond what any budget allows.
const stepsAllowed = 500

// drive runs the loop to its end. happen returns the event that follows from an effect. Every state
// is encoded as JSON, as in a workflow.
func drive(t *testing.T, b agent.Budget, happen func(agent.Effect) agent.Event) trace {
	t.Helper()
	var run trace
	var s agent.State
	var event agent.Event = agent.Begin{At: noon, Budget: b}
	for range stepsAllowed {
		next, effect := agent.Next(s, event)
		run.events, run.states, run.effects = append(run.events, event), append(run.states, next),
			append(run.effects, effect)
		s = carried(t, next)
		if _, ended := effect.(agent.End); ended {
			return run
		}
		event = happen(effect)
	}
	t.Fatalf("no end after %d effects", stepsAllowed)
	return run
}

func carried(t *testing.T, s agent.State) agent.State {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) >= 2048 {
		t.Fatalf("state of %d bytes", len(text))
	}
	var back agent.State
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, s) {
		t.Fatalf("state changed in JSON: %+v, %+v", s, back)
	}
	return back
}

func (r trace) steps() []agent.Step {
	var steps []agent.Step
	for _, e := range r.effects {
		if step, ok := e.(agent.Step); ok {
			steps = append(steps, step)
		}
	}
	return steps
}

func (r trace) toolRuns() []agent.RunTools {
	var runs []agent.RunTools
	for _, e := range r.effects {
		if tools, ok := e.(agent.RunTools); ok {
			runs = append(runs, tools)
		}
	}
	return runs
}

func (r trace) end() agent.End { return r.effects[len(r.effects)-1].(agent.End) }

// replies returns events in order and repeats the last one.
func replies(events ...agent.Event) func(agent.Effect) agent.Event {
	return func(e agent.Effect) agent.Event {
		step, ok := e.(agent.Step)
		if !ok {
			return agent.ToolsRan{}
		}
		return events[min(step.N, len(events))-1]
	}
}

// tireless is a model that calls tools until it gets a call without tools.
func tireless(classes ...agent.Class) func(agent.Effect) agent.Event {
	return func(e agent.Effect) agent.Event {
		step, ok := e.(agent.Step)
		switch {
		case !ok:
			return agent.ToolsRan{}
		case step.Toolless:
			return agent.StepDone{Final: true}
		}
		return calling(classes...)
	}
}

func calling(classes ...agent.Class) agent.StepDone {
	var s agent.StepDone
	for i, class := range classes {
		s.Calls = append(s.Calls, agent.CallRef{Index: i, Tool: "tool", Class: class})
	}
	return s
}
