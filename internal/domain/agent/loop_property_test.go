package agent_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"cairn/internal/domain/agent"
)

// randomBudget returns a random budget in use, with an overridden maximum half of the time.
func randomBudget(t *testing.T, r *rand.Rand) agent.Budget {
	t.Helper()
	all := []agent.Budget{agent.ForChannel("voice"), agent.ForChannel("sms"), agent.ForChannel("chat"),
		agent.ForChannel("scheduled"), agent.ForNudge(), agent.ForReflection()}
	b := all[r.IntN(len(all))]
	if r.IntN(2) == 0 {
		return b
	}
	n := 1 + r.IntN(agent.MaxOverride)
	overridden, err := b.Override(n)
	if err != nil || overridden.Max != n {
		t.Fatalf("override %d: %+v, %v", n, overridden, err)
	}
	return overridden
}

// randomWorld is a model that rarely finishes: it calls tools, returns invalid replies, and ignores
// that it may call no tools.
func randomWorld(r *rand.Rand, ends bool) func(agent.Effect) agent.Event {
	often := func(percent int) bool { return r.IntN(100) < percent }
	return func(e agent.Effect) agent.Event {
		if ends && often(3) {
			return []agent.Event{agent.Failed{Provider: often(50)}, agent.DeadlinePassed{},
				agent.Cancelled{}}[r.IntN(3)]
		}
		step, ok := e.(agent.Step)
		if !ok {
			return agent.ToolsRan{}
		}
		s := agent.StepDone{Unusable: often(15), Tripped: ends && often(3),
			OverBudget: ends && often(2), Client: ends && !step.Toolless && often(2)}
		s.Final = ends && often(3) || step.Toolless && often(60)
		for i := range r.IntN(6) {
			s.Calls = append(s.Calls, agent.CallRef{Index: i, Tool: "a_tool_with_rather_a_long_name",
				Class: []agent.Class{agent.Fast, agent.Slow, agent.Control, ""}[r.IntN(4)]})
		}
		return s
	}
}

func TestNoSeriesOfRepliesExceedsTheBudget(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := randomBudget(t, r)
		run := drive(t, b, randomWorld(r, seed%2 == 0))
		steps := run.steps()

		for i, step := range steps {
			if step.N != i+1 {
				t.Fatalf("seed %d: call %d has number %d", seed, i+1, step.N)
			}
		}
		if last := run.states[len(run.states)-1].Budget; len(steps) > b.Max || last.Used != len(steps) {
			t.Fatalf("seed %d: %d calls of at most %d, %+v", seed, len(steps), b.Max, last)
		}
		if last := steps[len(steps)-1]; !b.RunLast && len(steps) == b.Max && !last.Toolless {
			t.Fatalf("seed %d: the last call had tools", seed)
		}
		checkCallsRunOnce(t, seed, b, run)
	}
}

// checkCallsRunOnce checks that each call is run by at most one activity, never under an unusable
// reply, and that a review that spent its units has run its last calls.
func checkCallsRunOnce(t *testing.T, seed uint64, b agent.Budget, run trace) {
	t.Helper()
	for i, effect := range run.effects {
		tools, ok := effect.(agent.RunTools)
		if !ok {
			continue
		}
		reply, ok := run.events[i].(agent.StepDone)
		if !ok || reply.Unusable || len(tools.Calls) == 0 {
			t.Fatalf("seed %d: %+v after %+v", seed, tools, run.events[i])
		}
		if tools.Last && (!b.RunLast && !reply.Client || !reflect.DeepEqual(tools.Calls, reply.Calls)) {
			t.Fatalf("seed %d: last calls %+v of %+v", seed, tools, reply)
		}
	}
	n := len(run.events)
	reply, ok := run.events[n-1].(agent.StepDone)
	if ok && b.RunLast && !reply.Final && !reply.OverBudget && !reply.Unusable && len(reply.Calls) > 0 {
		t.Fatalf("seed %d: a review ended without running %+v", seed, reply)
	}
}

func TestTheSameEventsGiveTheSameStates(t *testing.T) {
	t.Parallel()
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		run := drive(t, randomBudget(t, r), randomWorld(r, true))
		var s agent.State
		for i, event := range run.events {
			var effect agent.Effect
			s, effect = agent.Next(s, event)
			if s != run.states[i] || !reflect.DeepEqual(effect, run.effects[i]) {
				t.Fatalf("seed %d, event %d: %+v, %+v", seed, i, s, effect)
			}
		}
	}
}

func TestAReplyOfManyCallsDoesNotGrowTheState(t *testing.T) {
	t.Parallel()
	classes := make([]agent.Class, 1000)
	for i := range classes {
		classes[i] = agent.Slow
	}
	drive(t, agent.ForChannel("scheduled"), tireless(classes...)) // checks the size of every state
}
