package nudge_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/nudge"
)

// conversation is the state of a caller that uses this package.
type conversation struct {
	Seen     nudge.RecentIDs
	Counters nudge.Counters
}

// receive handles a message as a conversation does and returns what was started. The state is
// encoded as JSON each time, as in a continue-as-new.
func (c *conversation) receive(t *testing.T, s nudge.Settings, id string, turn nudge.Turn, startFails bool) (memory,
	skill bool) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	*c = conversation{}
	if err := json.Unmarshal(text, c); err != nil {
		t.Fatal(err)
	}
	if !c.Seen.Add(id) {
		return false, false
	}
	turn.Number = c.Counters.Total + 1
	c.Counters = nudge.After(c.Counters, turn)
	if !turn.Eligible() {
		return false, false
	}
	memory, skill = nudge.Due(c.Counters, s)
	if !memory && !skill || startFails {
		return false, false
	}
	c.Counters = nudge.Started(c.Counters, turn.Number, memory, skill)
	return memory, skill
}

func TestTwentyFiveTurnsFireExactlyWhereTheyShould(t *testing.T) {
	t.Parallel()
	interrupted := with(func(t *nudge.Turn) { t.Interrupted = true })
	failed := with(func(t *nudge.Turn) { t.Failed = true })
	cron := with(func(t *nudge.Turn) { t.Origin = agent.OriginAgent })
	review := with(func(t *nudge.Turn) { t.Origin = agent.OriginNudge })
	savedMemory := with(func(t *nudge.Turn) { t.SavedMemory = true })
	savedSkill := with(func(t *nudge.Turn) { t.SavedSkill = true })
	failedWrite := with(func(t *nudge.Turn) { t.ToolIters = 3 }) // tools ran, nothing was committed

	turns := []struct {
		id         string
		turn       nudge.Turn
		startFails bool
		fires      string
	}{ // the counters of memory and skill after it
		{id: "1", turn: said()},                    // 1 1
		{id: "1", turn: said()},                    // duplicate
		{id: "3", turn: said()},                    // 2 2
		{id: "4", turn: interrupted},               //
		{id: "5", turn: said()},                    // 3 3
		{id: "6", turn: cron},                      //
		{id: "7", turn: failedWrite},               // 4 4
		{id: "8", turn: said()},                    // 5 5
		{id: "9", turn: savedMemory},               // 0 6
		{id: "10", turn: said()},                   // 1 7
		{id: "3", turn: savedSkill},                // duplicate
		{id: "12", turn: said()},                   // 2 8
		{id: "13", turn: failed},                   //
		{id: "14", turn: said()},                   // 3 9
		{id: "15", turn: said(), fires: "skill"},   // 4 10
		{id: "16", turn: said()},                   // 5 1, in flight
		{id: "17", turn: review},                   //
		{id: "18", turn: said()},                   // 6 2, the review has ended
		{id: "19", turn: said()},                   // 7 3
		{id: "20", turn: savedSkill},               // 8 0
		{id: "21", turn: said()},                   // 9 1
		{id: "22", turn: said(), startFails: true}, // 10 2, due but not started
		{id: "23", turn: interrupted},              //
		{id: "24", turn: said(), fires: "memory"},  // 11 3
		{id: "25", turn: savedMemory},              // 0 4, in flight
	}
	var c conversation
	for i, turn := range turns {
		memory, skill := c.receive(t, nudge.Default(), turn.id, turn.turn, turn.startFails)
		if got := fired(memory, skill); got != turn.fires {
			t.Errorf("turn %d fired %q, want %q: %+v", i+1, got, turn.fires, c.Counters)
		}
		if turn.id == "17" {
			c.Counters = nudge.Finished(c.Counters, c.Counters.InFlight)
		}
	}
	// 18 turns counted; the 10th was reviewed, the review of the 17th is running.
	want := nudge.Counters{Memory: 0, Skill: 4, Total: 18, LastReviewed: 10, InFlight: 17}
	if c.Counters != want {
		t.Errorf("at the end %+v, want %+v", c.Counters, want)
	}
}

func TestWithoutSavesBothReviewsComeEveryTenTurns(t *testing.T) {
	t.Parallel()
	var c conversation
	for i := 1; i <= 25; i++ {
		memory, skill := c.receive(t, nudge.Default(), strconv.Itoa(i), said(), false)
		want := ""
		if i%10 == 0 {
			want = "both"
		}
		if got := fired(memory, skill); got != want {
			t.Errorf("turn %d fired %q", i, got)
		}
		if want != "" {
			c.Counters = nudge.Finished(c.Counters, i)
		}
	}
	if c.Counters != (nudge.Counters{Memory: 5, Skill: 5, Total: 25, LastReviewed: 20}) {
		t.Errorf("%+v", c.Counters)
	}
}

func fired(memory, skill bool) string {
	switch {
	case memory && skill:
		return "both"
	case memory:
		return "memory"
	case skill:
		return "skill"
	}
	return ""
}

// chronicle is the naive model: it keeps all events and counts from scratch each time.
type chronicle struct {
	entries  []entry
	inFlight int
	reviewed int
	seen     map[string]bool
}

type entry struct {
	turn                  nudge.Turn
	tookMemory, tookSkill bool // a review was started here
}

func (c *chronicle) receive(s nudge.Settings, id string, turn nudge.Turn, startFails bool) (memory, skill bool) {
	if c.seen[id] {
		return false, false
	}
	c.seen[id] = true
	counts := turn.Origin == agent.OriginUser && turn.Role == "user" && turn.Delivered && !turn.Failed &&
		!turn.Interrupted
	if !counts {
		return false, false
	}
	c.entries = append(c.entries, entry{turn: turn})
	saidSince, askedSince, iters := c.count()
	memory = saidSince >= s.Every
	skill = askedSince >= s.Every || s.ToolIters > 0 && iters >= s.ToolIters
	if c.inFlight != 0 || startFails || !memory && !skill {
		return false, false
	}
	newest := &c.entries[len(c.entries)-1]
	newest.tookMemory, newest.tookSkill = memory, skill
	c.inFlight = len(c.entries)
	return memory, skill
}

// count reads the chronicle backwards to the last save or review.
func (c *chronicle) count() (memory, skill, iters int) {
	memoryOpen, skillOpen := true, true
	for i := len(c.entries) - 1; i >= 0; i-- {
		e := c.entries[i]
		memoryOpen = memoryOpen && !e.turn.SavedMemory && !e.tookMemory
		skillOpen = skillOpen && !e.turn.SavedSkill && !e.tookSkill
		if memoryOpen {
			memory++
		}
		if skillOpen {
			skill++
			iters += e.turn.ToolIters
		}
	}
	return memory, skill, iters
}

func TestTheCountersAgreeWithAChronicle(t *testing.T) {
	t.Parallel()
	reviews := 0
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 5))
		often := func(percent int) bool { return r.IntN(100) < percent }
		s := nudge.Default()
		s.Every, s.ToolIters = 2+r.IntN(10), []int{0, 0, 10, 30}[r.IntN(4)]
		naive := chronicle{seen: map[string]bool{}}
		var c conversation
		for i := range 120 {
			turn := nudge.Turn{Origin: agent.OriginUser, Role: "user", Delivered: !often(5), Interrupted: often(5),
				Failed:    often(5),
				ToolIters: r.IntN(5), SavedMemory: often(6), SavedSkill: often(6)}
			if often(10) {
				turn.Origin = []agent.Origin{agent.OriginAgent, agent.OriginNudge, agent.OriginReflection}[r.IntN(3)]
			}
			id := strconv.Itoa(i - r.IntN(2)*r.IntN(20))
			fails := often(20)
			memory, skill := c.receive(t, s, id, turn, fails)
			wantMemory, wantSkill := naive.receive(s, id, turn, fails)
			if memory != wantMemory || skill != wantSkill {
				t.Fatalf("seed %d, turn %d: %q, want %q", seed, i, fired(memory, skill), fired(wantMemory, wantSkill))
			}
			if memory || skill {
				reviews++
			}
			if naive.inFlight != 0 && often(30) {
				if often(80) {
					c.Counters = nudge.Finished(c.Counters, naive.inFlight)
					naive.reviewed = naive.inFlight
				} else {
					c.Counters = nudge.Lost(c.Counters, naive.inFlight)
				}
				naive.inFlight = 0
			}
			m, k, iters := naive.count()
			want := nudge.Counters{Memory: m, Skill: k, ToolIters: iters, Total: len(naive.entries),
				LastReviewed: naive.reviewed, InFlight: naive.inFlight}
			if c.Counters != want {
				t.Fatalf("seed %d, turn %d: %+v, want %+v", seed, i, c.Counters, want)
			}
			if end := naive.inFlight == 0 && len(naive.entries)-
				naive.reviewed >= 3; nudge.EndDue(c.Counters, s) != end {
				t.Fatalf("seed %d, turn %d: end due is not %t: %+v", seed, i, end, c.Counters)
			}
		}
	}
	if reviews < 300 {
		t.Errorf("only %d reviews in 150 conversations: the test has nothing to compare", reviews)
	}
}
