package world

import (
	"fmt"
	"slices"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/transcript"
)

// sayings returns a trace with one span per message.
func sayings(t *testing.T, o Options, said ...string) *trace {
	t.Helper()
	o.Spans = executor.Spanning{Mode: executor.Turn}
	out, err := o.trace("sayings")
	if err != nil {
		t.Fatal(err)
	}
	var messages []transcript.Message
	for i, text := range said {
		messages = append(messages, transcript.Message{Seq: i, Role: transcript.User, Name: "Ada", Time: talkAt,
			Content: text})
	}
	if err := out.read(messages); err != nil {
		t.Fatal(err)
	}
	out.tokens *= 10 // everything fits
	return out
}

var ofHouses = []string{"I bought a house in Bergen.", "I bought a boat in Bergen.", "I bought a  boat in Bergen.",
	"My sister bought a farm in Porto.", "I sold the house in Bergen.", "I painted the boat in Porto."}

// keepAll returns a bank that inserts every message, and a function that plays it.
func keepAll(t *testing.T) (bank memoryskill.Bank, choose func(seen *[][]float64) chooser) {
	bank = unforeseen(t, "keep_all", func(s *memoryskill.Skill) {
		s.Description, s.Purpose, s.WhenToUse = "Adds facts.", "Keep information.", []string{"The span brings facts"}
	})
	return bank, func(seen *[][]float64) chooser {
		return func(_ int, state []float64) (policy.Decision, error) {
			*seen = append(*seen, state)
			return policy.Decision{Chosen: idsOf(bank), Greedy: true}, nil
		}
	}
}

// Concurrent spans see the memories before the first of them. Their actions are merged in order,
// whatever span ends first.
func TestSpansAtOnceSeeOneMemory(t *testing.T) {
	t.Parallel()
	one := sayings(t, DefaultOptions(), ofHouses...)
	bank, choose := keepAll(t)
	blind := func(workers int) (out []int, items []string) {
		var seen [][]float64
		p, err := playAtOnce(one, bank, choose(&seen), workers)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.episode.Decisions) != len(ofHouses) || p.episode.Decisions[5].ID != "5" {
			t.Fatalf("%d decisions", len(p.episode.Decisions))
		}
		for n, state := range seen {
			if !slices.ContainsFunc(state[len(state)/2:], func(x float64) bool { return x != 0 }) {
				out = append(out, n)
			}
		}
		return out, p.items
	}
	for workers, want := range map[int][]int{1: {0}, 2: {0, 1}, 4: {0, 1, 2, 3}, 99: {0, 1, 2, 3, 4, 5}} {
		got, items := blind(workers)
		if !slices.Equal(got, want) {
			t.Errorf("%d at once: spans %v see nothing, want %v", workers, got, want)
		}
		if again, same := blind(workers); !slices.Equal(again, got) || !slices.Equal(same, items) {
			t.Errorf("%d at once: %q, and again %q", workers, items, same)
		}
		if sorted := slices.Sorted(slices.Values(items)); len(slices.Compact(sorted)) != len(items) {
			t.Errorf("%d at once: one thing is remembered twice: %q", workers, items)
		}
	}
	alone, err := play(one, bank, choose(new([][]float64)))
	if err != nil {
		t.Fatal(err)
	}
	if _, items := blind(1); !slices.Equal(items, alone.items) {
		t.Errorf("one at once: %q, want %q", items, alone.items)
	}
}

// The fuse option changes the state that a policy sees.
func TestAStateIsFusedAsItIsAskedFor(t *testing.T) {
	t.Parallel()
	bank, choose := keepAll(t)
	states := map[string][]float64{}
	for _, fuse := range []string{"", policy.Mean, policy.SimWeighted} {
		o := DefaultOptions()
		o.Fuse = fuse
		var seen [][]float64
		if _, err := play(sayings(t, o, ofHouses...), bank, choose(&seen)); err != nil {
			t.Fatal(err)
		}
		states[fuse] = seen[len(seen)-1]
	}
	if !slices.Equal(states[""], states[policy.Mean]) || slices.Equal(states[policy.Mean], states[policy.SimWeighted]) {
		t.Errorf("%v", states)
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	if err := DefaultOptions().Check(); err != nil {
		t.Fatal(err)
	}
	for i, bad := range []func(*Options){func(o *Options) { o.SessionWorkers = 0 }, func(o *Options) {
		o.SessionWorkers = 1001
	}, func(o *Options) { o.Fuse = "median" }, func(o *Options) { o.Temperature = 1 },
		func(o *Options) { o.Spans.Mode = "sentence" }} {
		o := DefaultOptions()
		if bad(&o); fault.CodeOf(o.Check()) != fault.InvalidArgument {
			t.Error(fmt.Sprint(i), o.Check())
		}
	}
}
