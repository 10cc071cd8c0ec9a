package agent_test

import (
	"reflect"
	"testing"
	"time"

	"cairn/internal/domain/agent"
)

func TestARunThatAnswersEndsFinal(t *testing.T) {
	t.Parallel()
	run := drive(t, agent.ForChannel("chat"), replies(calling(agent.Fast), agent.StepDone{Final: true}))
	want := []agent.Effect{agent.Step{N: 1}, agent.Step{N: 2}, agent.End{Reason: agent.Final, Closed: true}}
	if !reflect.DeepEqual(run.effects, want) {
		t.Errorf("effects %+v", run.effects)
	}
	if last := run.states[len(run.states)-1]; last.Budget.Used != 2 || last.Step != 2 {
		t.Errorf("state %+v", last)
	}
}

func TestATirelessModelIsStoppedByItsBudget(t *testing.T) {
	t.Parallel()
	three := func(b agent.Budget) agent.Budget {
		b, err := b.Override(3)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	one, _ := agent.ForChannel("voice").Override(1)
	chat, _ := agent.ForChannel("chat").Override(1)
	answered, silent := agent.End{Reason: agent.Exhausted, Closed: true}, agent.End{Reason: agent.Exhausted}
	for name, c := range map[string]struct {
		budget agent.Budget
		calls  int
		last   agent.Step
		end    agent.End
	}{
		"voice": {agent.ForChannel("voice"), 6, agent.Step{N: 6, Toolless: true, Last: true}, answered},
		"sms":   {agent.ForChannel("sms"), 10, agent.Step{N: 10, Toolless: true, Last: true}, answered},
		"chat":  {agent.ForChannel("chat"), 10, agent.Step{N: 10, Toolless: true, Last: true}, answered},
		"scheduled": {agent.ForChannel("scheduled"), 15, agent.Step{N: 15, Toolless: true, Last: true},
			answered},
		"nudge":      {agent.ForNudge(), 5, agent.Step{N: 5, Last: true}, silent},
		"reflection": {agent.ForReflection(), 15, agent.Step{N: 15, Last: true}, silent},
		"voice, three": {three(agent.ForChannel("voice")), 3, agent.Step{N: 3, Toolless: true, Last: true},
			answered},
		"scheduled, three": {three(agent.ForChannel("scheduled")), 3, agent.Step{N: 3, Toolless: true, Last: true},
			answered},
		"voice, one": {one, 1, agent.Step{N: 1, Toolless: true, Last: true}, answered},
		"chat, one":  {chat, 1, agent.Step{N: 1, Toolless: true, Last: true}, answered},
	} {
		run := drive(t, c.budget, tireless(agent.Fast))
		steps := run.steps()
		if len(steps) != c.calls || steps[len(steps)-1] != c.last || run.end() != c.end {
			t.Errorf("%s: %d calls, last %+v, end %+v", name, len(steps), steps[len(steps)-1], run.end())
		}
		for i, step := range steps[:len(steps)-1] {
			if step != (agent.Step{N: i + 1}) {
				t.Errorf("%s: %+v before the last", name, step)
			}
		}
	}
}

// The calls of a review's last reply run, although no model call follows.
func TestTheLastCallsOfAReviewAreRun(t *testing.T) {
	t.Parallel()
	for _, b := range []agent.Budget{agent.ForNudge(), agent.ForReflection()} {
		run := drive(t, b, tireless(agent.Fast, agent.Slow))
		runs := run.toolRuns()
		want := agent.RunTools{Calls: calling(agent.Fast, agent.Slow).Calls, Last: true}
		if len(runs) != b.Max || !reflect.DeepEqual(runs[len(runs)-1], want) {
			t.Errorf("%d tool runs, last %+v", len(runs), runs[len(runs)-1])
		}
	}
}

// A reply that also calls tools of the client ends the run after the other calls.
func TestCallsOfAClientEndTheRun(t *testing.T) {
	t.Parallel()
	mixed := calling(agent.Fast, agent.Slow)
	mixed.Client = true
	run := drive(t, agent.ForChannel("chat"), replies(calling(agent.Fast), mixed))
	want := []agent.Effect{agent.Step{N: 1}, agent.Step{N: 2}, agent.RunTools{Calls: mixed.Calls, Last: true},
		agent.End{Reason: agent.ClientTools}}
	if !reflect.DeepEqual(run.effects, want) {
		t.Errorf("effects %+v", run.effects)
	}
}

func TestSlowAndControlCallsRunBeforeTheNextStep(t *testing.T) {
	t.Parallel()
	run := drive(t, agent.ForChannel("chat"),
		replies(calling(agent.Fast, agent.Slow, "", agent.Control), agent.StepDone{Final: true}))
	want := []agent.Effect{
		agent.Step{N: 1},
		agent.RunTools{Calls: []agent.CallRef{{Index: 1, Tool: "tool", Class: agent.Slow},
			{Index: 3, Tool: "tool", Class: agent.Control}}},
		agent.Step{N: 2},
		agent.End{Reason: agent.Final, Closed: true},
	}
	if !reflect.DeepEqual(run.effects, want) {
		t.Errorf("effects %+v", run.effects)
	}
}

// A reply without use costs a unit like any other.
func TestUnusableRepliesDoNotExtendTheBudget(t *testing.T) {
	t.Parallel()
	unusable, empty, call := agent.StepDone{Unusable: true}, agent.StepDone{}, calling(agent.Fast)
	for name, world := range map[string][]agent.Event{
		"unusable replies":        {unusable},
		"empty replies":           {empty},
		"one of them, then calls": {unusable, empty, call},
		"calls in the last reply": {call},
	} {
		run := drive(t, agent.ForChannel("sms"), replies(world...))
		if n := len(run.steps()); n != 10 || run.end() != (agent.End{Reason: agent.Exhausted}) {
			t.Errorf("%s: %d calls, end %+v", name, n, run.end())
		}
	}
}

func TestATrippedGuardDemandsTheAnswer(t *testing.T) {
	t.Parallel()
	tripped := calling(agent.Slow)
	tripped.Tripped = true
	forced := agent.Step{N: 3, Toolless: true, Last: true, Unrun: agent.SkipGuardrail}
	answer := agent.StepDone{Final: true}
	for name, c := range map[string]struct {
		budget agent.Budget
		world  []agent.Event
		want   []agent.Effect
	}{
		"within the budget": {agent.ForChannel("chat"), []agent.Event{calling(agent.Fast), tripped, answer},
			[]agent.Effect{agent.Step{N: 1}, agent.Step{N: 2}, forced,
				agent.End{Reason: agent.Guardrail, Closed: true}}},
		"the answer does not come": {agent.ForChannel("chat"), []agent.Event{calling(agent.Fast), tripped, tripped},
			[]agent.Effect{agent.Step{N: 1}, agent.Step{N: 2}, forced, agent.End{Reason: agent.Guardrail}}},
		"answered in the same step": {agent.ForChannel("chat"),
			[]agent.Event{agent.StepDone{Final: true, Tripped: true}},
			[]agent.Effect{agent.Step{N: 1}, agent.End{Reason: agent.Guardrail, Closed: true}}},
		"on the last unit": {agent.Budget{Max: 2}, []agent.Event{tripped, answer},
			[]agent.Effect{agent.Step{N: 1}, agent.Step{N: 2, Toolless: true, Last: true, Unrun: agent.SkipGuardrail},
				agent.End{Reason: agent.Guardrail, Closed: true}}},
		"the answer is unusable": {agent.Budget{Max: 5},
			[]agent.Event{calling(agent.Fast), tripped, agent.StepDone{Unusable: true}},
			[]agent.Effect{agent.Step{N: 1}, agent.Step{N: 2}, forced, agent.End{Reason: agent.Guardrail}}},
		"no caller waits for the reply": {agent.ForNudge(), []agent.Event{tripped},
			[]agent.Effect{agent.Step{N: 1}, agent.RunTools{Calls: tripped.Calls, Last: true},
				agent.End{Reason: agent.Guardrail}}},
	} {
		if run := drive(t, c.budget, replies(c.world...)); !reflect.DeepEqual(run.effects, c.want) {
			t.Errorf("%s: effects %+v", name, run.effects)
		}
	}
}

func TestWhatEndsARunAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		event agent.Event
		want  agent.Reason
	}{
		"provider":  {agent.Failed{Provider: true}, agent.ProviderError},
		"our fault": {agent.Failed{}, agent.Interrupted},
		"deadline":  {agent.DeadlinePassed{}, agent.WallClock},
		"cancelled": {agent.Cancelled{}, agent.Interrupted},
		"no money":  {agent.StepDone{OverBudget: true}, agent.OverBudget},
	} {
		for _, b := range []agent.Budget{agent.ForChannel("sms"), agent.ForChannel("voice"), agent.ForNudge()} {
			run := drive(t, b, replies(calling(agent.Fast), c.event))
			if run.end() != (agent.End{Reason: c.want}) || len(run.steps()) != 2 {
				t.Errorf("%s: %+v after %d calls", name, run.end(), len(run.steps()))
			}
		}
	}
	for _, event := range []agent.Event{agent.DeadlinePassed{}, agent.Cancelled{}, agent.Failed{}} {
		run := drive(t, agent.ForChannel("chat"), func(e agent.Effect) agent.Event {
			if _, ok := e.(agent.RunTools); ok {
				return event
			}
			return calling(agent.Slow)
		})
		if run.end().Reason == agent.Final || len(run.steps()) != 1 {
			t.Errorf("%T while tools run: %+v", event, run.effects)
		}
	}
}

// If the final summary fails, the completed work stays and the run ends for the reason of the
// summary.
func TestAProviderThatFailsTheFinalCallDoesNotChangeTheReason(t *testing.T) {
	t.Parallel()
	for _, channel := range []string{"voice", "sms"} {
		run := drive(t, agent.ForChannel(channel), func(e agent.Effect) agent.Event {
			if e.(agent.Step).Toolless {
				return agent.Failed{Provider: true}
			}
			return calling(agent.Fast)
		})
		if run.end() != (agent.End{Reason: agent.Exhausted}) {
			t.Errorf("%s: %+v", channel, run.end())
		}
	}
}

func TestAProviderThatFailsTheOnlyCallIsTheReason(t *testing.T) {
	t.Parallel()
	run := drive(t, agent.Budget{Max: 1}, replies(agent.Failed{Provider: true}))
	if run.end() != (agent.End{Reason: agent.ProviderError}) {
		t.Errorf("ended with %+v", run.end())
	}
}

func TestTheDeadlineIsSetOnceFromTheWallClock(t *testing.T) {
	t.Parallel()
	run := drive(t, agent.ForChannel("voice"), tireless(agent.Fast))
	for _, s := range run.states {
		if !s.Deadline.Equal(noon.Add(7 * time.Second)) {
			t.Fatalf("deadline %s", s.Deadline)
		}
	}
	if s, _ := agent.Next(agent.State{}, agent.Begin{At: noon, Budget: agent.Budget{Max: 1}}); !s.Deadline.IsZero() {
		t.Errorf("deadline %s without a wall clock", s.Deadline)
	}
}

func TestWhatComesAfterTheEndChangesNothing(t *testing.T) {
	t.Parallel()
	run := drive(t, agent.ForChannel("sms"), replies(agent.StepDone{Final: true}))
	last := run.states[len(run.states)-1]
	for _, event := range []agent.Event{agent.DeadlinePassed{}, agent.Cancelled{}, calling(agent.Fast),
		agent.ToolsRan{}, agent.Failed{Provider: true}} {
		if s, effect := agent.Next(last, event); s != last || effect != run.end() {
			t.Errorf("%T: %+v, %+v", event, s, effect)
		}
	}
}

func TestAnEventOutOfPlaceIsADefect(t *testing.T) {
	t.Parallel()
	begun, _ := agent.Next(agent.State{}, agent.Begin{Budget: agent.ForNudge()})
	for name, c := range map[string]struct {
		state agent.State
		event agent.Event
	}{
		"reply before the beginning": {agent.State{}, agent.StepDone{Final: true}},
		"tools that were not run":    {begun, agent.ToolsRan{}},
		"second beginning":           {begun, agent.Begin{}},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s went through", name)
				}
			}()
			agent.Next(c.state, c.event)
		}()
	}
}

// A run with a checkpoint informs its model once, at three quarters of its units. A run without one
// does not, and small budgets are too small for a checkpoint.
func TestACheckpointIsToldOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		budget agent.Budget
		want   map[int]int // step → units left after it
	}{
		{agent.Budget{Max: 15, Checkpoint: true}, map[int]int{12: 3}},
		{agent.Budget{Max: 8, RunLast: true, Checkpoint: true}, map[int]int{6: 2}},
		{agent.Budget{Max: 4, Checkpoint: true}, map[int]int{3: 1}},
		{agent.Budget{Max: 3, Checkpoint: true}, map[int]int{}},
		{agent.Budget{Max: 15}, map[int]int{}},
	} {
		told := map[int]int{}
		run := drive(t, c.budget, tireless(agent.Fast))
		for _, s := range run.steps() {
			if s.Left > 0 {
				told[s.N] = s.Left
			}
		}
		if !reflect.DeepEqual(told, c.want) {
			t.Errorf("%+v informs at %v, want %v", c.budget, told, c.want)
		}
	}
}
