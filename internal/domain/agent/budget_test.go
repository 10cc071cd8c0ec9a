package agent_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
)

func TestEachChannelHasItsBudget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		budget  agent.Budget
		calls   int
		wall    time.Duration
		runLast bool
	}{
		"voice":      {agent.ForChannel("voice"), 6, 7 * time.Second, false},
		"sms":        {agent.ForChannel("sms"), 10, time.Minute, false},
		"chat":       {agent.ForChannel("chat"), 10, 2 * time.Minute, false},
		"scheduled":  {agent.ForChannel("scheduled"), 15, 10 * time.Minute, false},
		"unknown":    {agent.ForChannel("fax"), 10, time.Minute, false},
		"none":       {agent.ForChannel(""), 10, time.Minute, false},
		"nudge":      {agent.ForNudge(), 5, 3 * time.Minute, true},
		"reflection": {agent.ForReflection(), 15, 15 * time.Minute, true},
	} {
		want := agent.Budget{Max: c.calls, Wall: c.wall, RunLast: c.runLast}
		if c.budget != want {
			t.Errorf("%s: %+v, want %+v", name, c.budget, want)
		}
	}
}

func TestAnOverrideReplacesTheNumberOnly(t *testing.T) {
	t.Parallel()
	voice := agent.ForChannel("voice")
	for _, n := range []int{0, 1, 3, 50} {
		want := voice
		if n > 0 {
			want.Max = n
		}
		if got, err := voice.Override(n); err != nil || got != want {
			t.Errorf("override %d: %+v, %v", n, got, err)
		}
	}
	for _, n := range []int{-1, 51, 1 << 40} {
		got, err := voice.Override(n)
		var f *fault.Error
		if !errors.As(err, &f) || f.Code != fault.InvalidArgument || f.Hint == "" || got != voice {
			t.Errorf("override %d: %+v, %v", n, got, err)
		}
	}
}

func TestABudgetSurvivesJSON(t *testing.T) {
	t.Parallel()
	want := agent.Budget{Max: 15, Used: 7, RunLast: true, Checkpoint: true, Wall: 10 * time.Minute}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got agent.Budget
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("%s: %+v, %v", text, got, err)
	}
}
