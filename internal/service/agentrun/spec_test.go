package agentrun_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/conversation"
	"cairn/internal/domain/nudge"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/testkit"
)

func TestASpecComesBackAsItWasPinned(t *testing.T) {
	t.Parallel()
	s := spec()
	s.Budget, s.Settings, s.Idle = agent.ForNudge(), nudge.Default(), time.Minute
	s.Toolsets, s.Material, s.ToSeq, s.Tainted = []agent.ToolSet{agent.SetSkills}, "<material>", 7, true
	raw, err := s.Encode()
	testkit.Must(t, err)
	back, err := agentrun.SpecOf(run.Run{Spec: raw})
	if err != nil || !reflect.DeepEqual(back, s) {
		t.Errorf("it comes back as %+v, %v", back, err)
	}
	if _, err := agentrun.SpecOf(run.Run{Ref: run.Ref{Run: "run_12"}, Spec: []byte("{")}); err == nil ||
		!strings.Contains(err.Error(), "run run_12") {
		t.Errorf("a broken one: %v", err)
	}
	s.Pinned = []byte("{")
	if _, err := s.Encode(); err == nil {
		t.Error("what cannot be read back is encoded")
	}
	pace := s.Timeouts()
	if pace.Model != time.Minute || pace.Heartbeat != time.Second || pace.Database != time.Second || pace.GiveUp != 0 {
		t.Errorf("its pace is %+v", pace)
	}
}

// Room is the part of the window not used by instructions, tools and the reply, and never negative.
func TestRoomIsWhatAWindowHasLeft(t *testing.T) {
	t.Parallel()
	for window, want := range map[int]int{0: 0, 8: 3, 8_000: 3_000, 40_000: 16_000, 128_000: 104_000} {
		if got := (agentrun.Limits{Window: window}).Room(); got != want {
			t.Errorf("a window of %d has room for %d, want %d", window, got, want)
		}
	}
}

// A run with several parts continues with the next one after a response without calls or after its
// share of responses. The last part has no limit.
func TestDividedFindsThePartOfEachResponse(t *testing.T) {
	t.Parallel()
	busy := func(n int) run.Step { return run.Step{N: n, Calls: []run.ToolCall{{Step: n}}} }
	quiet := func(n int) run.Step { return run.Step{N: n, Content: "done"} }
	spoilt := func(n int) run.Step { return run.Step{N: n} }
	for name, c := range map[string]struct {
		steps        []run.Step
		parts, share int
		of           []int
		next, since  int
	}{
		"nothing yet":        {nil, 3, 2, nil, 0, 0},
		"one part":           {[]run.Step{busy(1), busy(2), quiet(3)}, 1, 1, []int{0, 0, 0}, 0, 0},
		"done with each":     {[]run.Step{quiet(1), quiet(2)}, 3, 5, []int{0, 1}, 2, 2},
		"its share":          {[]run.Step{busy(1), busy(2), busy(3)}, 2, 2, []int{0, 0, 1}, 1, 2},
		"the last goes on":   {[]run.Step{quiet(1), busy(2), busy(3), busy(4)}, 2, 1, []int{0, 1, 1, 1}, 1, 1},
		"a spoilt response":  {[]run.Step{spoilt(1), busy(2), spoilt(3), busy(4)}, 2, 2, []int{0, 0, 0, 0}, 1, 4},
		"responses left out": {[]run.Step{quiet(2), busy(5)}, 2, 3, []int{0, 1}, 1, 2},
	} {
		of, next, since := agentrun.Divided(c.steps, c.parts, c.share)
		if !slices.Equal(of, c.of) || next != c.next || since != c.since {
			t.Errorf("%s: of %v, next %d since %d; want %v, %d, %d", name, of, next, since, c.of, c.next, c.since)
		}
	}
}

// Material that does not fit is shortened, longest messages first. If that is not enough, the
// history is dropped.
func TestFittedShortensTheLongestFirst(t *testing.T) {
	t.Parallel()
	material := func() prompt.Material {
		return prompt.Material{History: []prompt.Message{{Content: strings.Repeat("old ", 100)}},
			Messages: []prompt.Message{{Content: "Hello"}, {Content: strings.Repeat("long ", 800)}}}
	}
	whole := material()
	for name, tokens := range map[string]int{"no limit": 0, "enough": 5000} {
		if got := agentrun.Fitted(material(), tokens); !reflect.DeepEqual(got, whole) {
			t.Errorf("%s: it is changed to %+v", name, got)
		}
	}
	got := agentrun.Fitted(material(), 700)
	if long := got.Messages[1].Content; len(got.History) != 1 || got.Messages[0].Content != "Hello" ||
		len(long) >= 4000 || !strings.Contains(long, "characters left out") {
		t.Errorf("in 700 tokens: %+v", got)
	}
	got = agentrun.Fitted(material(), 120)
	if len(got.History) != 0 || len(got.Messages) != 2 || got.Messages[0].Content != "Hello" {
		t.Errorf("in 120 tokens: %+v", got)
	}
}

func TestMessagesOfATurnAreCalledAfterTheOneThatItAnswers(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range 3 {
		id := agentrun.MessageID("m1/1", i)
		if seen[id] || conversation.TurnMessageID(id) != "m1/1" {
			t.Errorf("message %d is called %q, of the turn of %q", i, id, conversation.TurnMessageID(id))
		}
		seen[id] = true
	}
	if !seen["m1/1"] {
		t.Error("the first has not the channel's id")
	}
	ms := make([]transcript.Message, 3)
	agentrun.Number(ms, 4)
	if ms[0].Seq != 4 || ms[2].Seq != 6 {
		t.Errorf("they are numbered %d to %d", ms[0].Seq, ms[2].Seq)
	}
}

// Pending, unchanged and failed writes are not counted as writes.
func TestWroteTellsAWriteFromAnAttempt(t *testing.T) {
	t.Parallel()
	w, wrote := agentrun.Wrote("skill_save", `{"ok":true,"action":"updated","name":"bake","version":2}`)
	if want := (run.Write{Tool: "skill_save", Action: "updated", Name: "bake", Version: 2}); !wrote || w != want {
		t.Errorf("read as %+v, %t", w, wrote)
	}
	for _, result := range []string{`{"ok":true}`, `{"ok":true,"action":"staged"}`, `{"ok":true,"action":"unchanged"}`,
		`{"ok":true,"action":"noop"}`, `{"ok":false,"action":"updated"}`, "no JSON", ""} {
		if w, wrote := agentrun.Wrote("skill_save", result); wrote || w != (run.Write{}) {
			t.Errorf("%s is read as %+v, %t", result, w, wrote)
		}
	}
	memory, skill := run.Write{Tool: "memory_batch"}, run.Write{Tool: "skill_patch"}
	for name, c := range map[string]struct {
		writes        []run.Write
		memory, skill bool
	}{
		"none": {nil, false, false}, "memory": {[]run.Write{memory}, true, false},
		"skill": {[]run.Write{skill}, false, true}, "both": {[]run.Write{skill, memory}, true, true},
		"another": {[]run.Write{{Tool: "skill_delete"}}, false, false},
	} {
		got := agentrun.Saves(nudge.Turn{Number: 3}, c.writes)
		if got.SavedMemory != c.memory || got.SavedSkill != c.skill || got.Number != 3 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
