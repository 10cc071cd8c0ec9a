package nudge_test

import (
	"encoding/json"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/nudge"
)

// said is a turn that counts.
func said() nudge.Turn {
	return nudge.Turn{Origin: agent.OriginUser, Role: "user", Delivered: true}
}

func with(change func(*nudge.Turn)) nudge.Turn {
	t := said()
	change(&t)
	return t
}

// Rule 1: an ineligible turn changes no counter, whatever it saved.
func TestTurnsThatDoNotCountAdvanceNothing(t *testing.T) {
	t.Parallel()
	before := nudge.Counters{Memory: 9, Skill: 8, ToolIters: 7, Total: 12, LastReviewed: 3, InFlight: 3}
	for name, turn := range map[string]nudge.Turn{
		"interrupted":      with(func(t *nudge.Turn) { t.Interrupted = true }),
		"failed":           with(func(t *nudge.Turn) { t.Failed = true }),
		"not delivered":    with(func(t *nudge.Turn) { t.Delivered = false }),
		"scheduled":        with(func(t *nudge.Turn) { t.Origin = agent.OriginAgent }),
		"of a nudge":       with(func(t *nudge.Turn) { t.Origin = agent.OriginNudge }),
		"of a reflection":  with(func(t *nudge.Turn) { t.Origin = agent.OriginReflection }),
		"imported":         with(func(t *nudge.Turn) { t.Origin = agent.OriginImport }),
		"no origin":        with(func(t *nudge.Turn) { t.Origin = "" }),
		"of the assistant": with(func(t *nudge.Turn) { t.Role = "assistant" }),
		"of the system":    with(func(t *nudge.Turn) { t.Role = "system" }),
	} {
		turn.Number, turn.ToolIters, turn.SavedMemory, turn.SavedSkill = 13, 4, true, true
		if after := nudge.After(before, turn); after != before || turn.Eligible() {
			t.Errorf("%s: %+v", name, after)
		}
	}
}

// Rules 2 and 3.
func TestATurnCountsAndASaveResets(t *testing.T) {
	t.Parallel()
	before := nudge.Counters{Memory: 4, Skill: 5, ToolIters: 6, Total: 7, LastReviewed: 2}
	for name, c := range map[string]struct {
		memory, skill bool
		want          nudge.Counters
	}{
		"nothing saved":   {false, false, nudge.Counters{Memory: 5, Skill: 6, ToolIters: 9, Total: 8, LastReviewed: 2}},
		"a memory":        {true, false, nudge.Counters{Skill: 6, ToolIters: 9, Total: 8, LastReviewed: 2}},
		"a skill":         {false, true, nudge.Counters{Memory: 5, Total: 8, LastReviewed: 2}},
		"one of each one": {true, true, nudge.Counters{Total: 8, LastReviewed: 2}},
	} {
		turn := with(func(t *nudge.Turn) {
			t.Number, t.ToolIters, t.SavedMemory, t.SavedSkill = 8, 3, c.memory,
				c.skill
		})
		if got := nudge.After(before, turn); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Rules 4 and 5, as far as counters show them.
func TestWhatIsDue(t *testing.T) {
	t.Parallel()
	iters := nudge.Default()
	iters.ToolIters = 30
	off := nudge.Default()
	off.Off = true
	onlyIters := nudge.Settings{ToolIters: 30}
	for name, c := range map[string]struct {
		counters      nudge.Counters
		settings      nudge.Settings
		memory, skill bool
	}{
		"new":                   {nudge.Counters{}, nudge.Default(), false, false},
		"one short":             {nudge.Counters{Memory: 9, Skill: 9}, nudge.Default(), false, false},
		"both on the same turn": {nudge.Counters{Memory: 10, Skill: 10}, nudge.Default(), true, true},
		"memory":                {nudge.Counters{Memory: 10, Skill: 3}, nudge.Default(), true, false},
		"skill":                 {nudge.Counters{Memory: 3, Skill: 10}, nudge.Default(), false, true},
		"above the mark":        {nudge.Counters{Memory: 14, Skill: 11}, nudge.Default(), true, true},
		"iterations are off":    {nudge.Counters{ToolIters: 1000}, nudge.Default(), false, false},
		"iterations":            {nudge.Counters{ToolIters: 30}, iters, false, true},
		"iterations short":      {nudge.Counters{ToolIters: 29}, iters, false, false},
		"iterations alone":      {nudge.Counters{Memory: 50, Skill: 50, ToolIters: 30}, onlyIters, false, true},
		"one in flight": {nudge.Counters{Memory: 12, Skill: 12, InFlight: 10}, nudge.Default(), false,
			false},
		"switched off":             {nudge.Counters{Memory: 12, Skill: 12}, off, false, false},
		"nothing is set, none due": {nudge.Counters{}, nudge.Settings{}, false, false},
		"nothing is set, many said": {nudge.Counters{Memory: 12, Skill: 12, ToolIters: 99}, nudge.Settings{}, false,
			false},
	} {
		if memory, skill := nudge.Due(c.counters, c.settings); memory != c.memory || skill != c.skill {
			t.Errorf("%s: %t, %t", name, memory, skill)
		}
	}
}

func TestTheDailyCap(t *testing.T) {
	t.Parallel()
	for started, want := range map[int]bool{0: false, 11: false, 12: true, 13: true} {
		if got := nudge.Default().Capped(started); got != want {
			t.Errorf("%d started: %t", started, got)
		}
	}
}

// Rule 5: a confirmed start resets what was due, and no more.
func TestAStartTakesOnlyWhatWasDue(t *testing.T) {
	t.Parallel()
	before := nudge.Counters{Memory: 10, Skill: 7, ToolIters: 5, Total: 20, LastReviewed: 10}
	for name, c := range map[string]struct {
		memory, skill bool
		want          nudge.Counters
	}{
		"memory": {true, false, nudge.Counters{Skill: 7, ToolIters: 5, Total: 20, LastReviewed: 10, InFlight: 20}},
		"skill":  {false, true, nudge.Counters{Memory: 10, Total: 20, LastReviewed: 10, InFlight: 20}},
		"both":   {true, true, nudge.Counters{Total: 20, LastReviewed: 10, InFlight: 20}},
	} {
		if got := nudge.Started(before, 20, c.memory, c.skill); got != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestHowAReviewEnds(t *testing.T) {
	t.Parallel()
	running := nudge.Counters{Memory: 2, Total: 22, LastReviewed: 10, InFlight: 20}
	for name, c := range map[string]struct {
		got, want nudge.Counters
	}{
		"it has read": {nudge.Finished(running, 20), nudge.Counters{Memory: 2, Total: 22, LastReviewed: 20}},
		"it is lost":  {nudge.Lost(running, 20), nudge.Counters{Memory: 2, Total: 22, LastReviewed: 10}},
		"a late report leaves the one that is running": {nudge.Finished(running, 15),
			nudge.Counters{Memory: 2, Total: 22, LastReviewed: 15, InFlight: 20}},
		"a later one has read further": {nudge.Finished(running, 5), running},
		"another one is lost":          {nudge.Lost(running, 15), running},
		"it reports twice": {nudge.Finished(nudge.Finished(running, 20), 20),
			nudge.Counters{Memory: 2, Total: 22, LastReviewed: 20}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", name, c.got, c.want)
		}
	}
}

// Rule 6.
func TestAConversationThatEndsIsReviewedFromThreeTurnsOn(t *testing.T) {
	t.Parallel()
	set := func(change func(*nudge.Settings)) nudge.Settings {
		s := nudge.Default()
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		counters nudge.Counters
		settings nudge.Settings
		want     bool
	}{
		"new":              {nudge.Counters{}, nudge.Default(), false},
		"two":              {nudge.Counters{Total: 2}, nudge.Default(), false},
		"three":            {nudge.Counters{Total: 3}, nudge.Default(), true},
		"two since review": {nudge.Counters{Total: 12, LastReviewed: 10}, nudge.Default(), false},
		"three since":      {nudge.Counters{Total: 13, LastReviewed: 10}, nudge.Default(), true},
		"under review":     {nudge.Counters{Total: 13, LastReviewed: 3, InFlight: 13}, nudge.Default(), false},
		"not wanted":       {nudge.Counters{Total: 13}, set(func(s *nudge.Settings) { s.OnEnd = false }), false},
		"switched off":     {nudge.Counters{Total: 13}, set(func(s *nudge.Settings) { s.Off = true }), false},
	} {
		if got := nudge.EndDue(c.counters, c.settings); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestCountersSurviveJSON(t *testing.T) {
	t.Parallel()
	for _, want := range []nudge.Counters{{},
		{Memory: 1, Skill: 2, ToolIters: 3, Total: 4, LastReviewed: 5, InFlight: 6}} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got nudge.Counters
		if err := json.Unmarshal(text, &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	var fresh nudge.Counters
	if err := json.Unmarshal([]byte(`{}`), &fresh); err != nil || fresh != (nudge.Counters{}) {
		t.Errorf("%+v, %v", fresh, err)
	}
}

func TestTwoViewsOfAConversationAreJoined(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ ours, theirs, want nudge.Counters }{
		"nothing known": {nudge.Counters{}, nudge.Counters{Memory: 3, Total: 7},
			nudge.Counters{Memory: 3, Total: 7}},
		"theirs is further": {nudge.Counters{Memory: 0, Total: 10, InFlight: 10},
			nudge.Counters{Memory: 1, Total: 11, InFlight: 10}, nudge.Counters{Memory: 1, Total: 11, InFlight: 10}},
		"ours has started a review": {nudge.Counters{Memory: 0, Total: 10, InFlight: 10},
			nudge.Counters{Memory: 10, Total: 10}, nudge.Counters{Memory: 0, Total: 10, InFlight: 10}},
		"they heard of its end": {nudge.Counters{Memory: 2, Total: 12, InFlight: 10},
			nudge.Counters{Total: 11, LastReviewed: 10}, nudge.Counters{Memory: 2, Total: 12, LastReviewed: 10}},
		"we heard of its end": {nudge.Counters{Total: 11, LastReviewed: 10},
			nudge.Counters{Memory: 2, Total: 12, InFlight: 10}, nudge.Counters{Memory: 2, Total: 12, LastReviewed: 10}},
	} {
		if got := nudge.Join(c.ours, c.theirs); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
