package world

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"

	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/transcript"
)

var talkAt = time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC)

// talk returns a conversation that does not fit into the store.
func talk(t *testing.T) *trace {
	t.Helper()
	out := &trace{id: "talk"}
	var messages []transcript.Message
	say := func(name, text string) {
		messages = append(messages, transcript.Message{Seq: len(messages), Role: transcript.User, Name: name,
			Content: text, Time: talkAt})
	}
	say("Ada", "My doctor says I am allergic to penicillin.")
	say("Bo", "I love hiking with my sister in Bergen.")
	for range 12 {
		say("Ada", "Well, you know how it goes with all of that, one thing and then another and so it went on and on.")
	}
	if err := out.read(messages); err != nil {
		t.Fatal(err)
	}
	out.ask(messages, "q0", "What is Ada allergic to?", "penicillin", []int{0})
	out.ask(messages, "q1", "Where does Bo hike?", "Bergen", []int{1})
	return out
}

// unforeseen returns skills whose names do not describe what they do.
func unforeseen(t *testing.T, name string, change func(*memoryskill.Skill)) memoryskill.Bank {
	t.Helper()
	s := memoryskill.Skill{
		Name:        name,
		Title:       "Zorb",
		Description: "Adds what the span mentions of illnesses and diets.",
		Purpose:     "Remember medical matters.",
		WhenToUse:   []string{"The span speaks of medical matters"},
		HowToApply:  []string{"One item for each"},
		Constraints: []string{"Ignore greetings"},
		Action:      memoryskill.Insert,
	}
	if change != nil {
		change(&s)
	}
	v, err := memoryskill.NewVersion(s.Normalized(), "", memoryskill.Human, "test")
	if err != nil {
		t.Fatal(err)
	}
	b, err := memoryskill.NewBank(capacity, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func kept(t *testing.T, b memoryskill.Bank) string {
	t.Helper()
	p, err := play(talk(t), b, always(idsOf(b)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(p.items, "\n")
}

func TestSkillsThatNobodyForesawAreObeyedByTheirText(t *testing.T) {
	t.Parallel()
	plain := kept(t, unforeseen(t, "quux_seven", nil))
	if !strings.Contains(plain, "penicillin") || strings.Contains(plain, "Bergen") {
		t.Fatalf("a skill for medical matters kept %q", plain)
	}
	if renamed := kept(t, unforeseen(t, "never_store_health", nil)); renamed != plain {
		t.Errorf("the name was obeyed: %q", renamed)
	}
	other := kept(t, unforeseen(t, "quux_seven", func(s *memoryskill.Skill) {
		s.Description, s.Purpose, s.WhenToUse = "Adds where people are.", "Remember places.",
			[]string{"The span names a place"}
	}))
	if !strings.Contains(other, "Bergen") || strings.Contains(other, "penicillin") {
		t.Errorf("a skill for places kept %q", other)
	}
	compact := kept(t, unforeseen(t, "quux_seven", func(s *memoryskill.Skill) {
		s.HowToApply = []string{"Use terse wording, and start with the name of the speaker"}
	}))
	if !strings.HasPrefix(compact, "Ada: ") || strings.Contains(compact, " am ") ||
		!strings.Contains(compact, "penicillin") {
		t.Errorf("the form was not obeyed: %q", compact)
	}
	if none := kept(t, unforeseen(t, "quux_seven", func(s *memoryskill.Skill) {
		s.Constraints = []string{"Never store anything medical"}
	})); none != "" {
		t.Errorf("a refusal was not obeyed: %q", none)
	}
}

// The store stays within its limit, whatever the skills offer.
func TestTheStoreHoldsNoMoreThanItsShare(t *testing.T) {
	t.Parallel()
	one := talk(t)
	all := unforeseen(t, "keep_all", func(s *memoryskill.Skill) {
		s.Description, s.Purpose, s.WhenToUse = "Adds facts.", "Keep information.", []string{"The span brings facts"}
	})
	p, err := play(one, all, always(idsOf(all)))
	if err != nil {
		t.Fatal(err)
	}
	tokens := 0
	for _, content := range p.items {
		tokens += textOf(content).tokens
	}
	if tokens == 0 || float64(tokens) > writeShare*float64(one.tokens) {
		t.Errorf("%d tokens are held of %d", tokens, one.tokens)
	}
}

// The least informative items are removed first, the oldest of equals, also after a rewrite.
func TestWhatTellsLeastGoes(t *testing.T) {
	t.Parallel()
	s := newStore(1 << 20)
	for _, content := range []string{"well then", "so it is", "Ada went to Bergen in 2021", "and so on"} {
		s.insert(content, nil, "d")
	}
	s.rewrite(s.items[0], "We met Karl in Oslo last week", nil, "e")
	s.remove(s.items[1], "f")
	s.most = s.tokens - 1
	s.fit()
	var left []string
	for _, i := range s.items {
		left = append(left, i.content)
	}
	if want := []string{"We met Karl in Oslo last week", "Ada went to Bergen in 2021"}; !slices.Equal(left, want) {
		t.Errorf("%q are left, want %q", left, want)
	}
	if len(s.taken) != 2 || s.taken[0].content != "well then" || s.taken[1].decisions[0] != "f" || len(s.gone) != 1 {
		t.Errorf("taken %d, given up %d", len(s.taken), len(s.gone))
	}
}

// A training episode records which decisions use the room, and its price is the share of answers
// that were lost to removals.
func TestAFullStoreTellsWhoFillsIt(t *testing.T) {
	t.Parallel()
	one := &trace{id: "crowd"}
	messages := []transcript.Message{{Name: "Bo", Role: transcript.User, Time: talkAt,
		Content: "I love hiking with my sister in Bergen."}}
	for i := range 12 {
		messages = append(messages, transcript.Message{Seq: i + 1, Name: "Ada", Role: transcript.User, Time: talkAt,
			Content: fmt.Sprintf("The old kettle stays near the %s shelf.", strings.Repeat(string(rune('a'+i)), 4))})
	}
	if err := one.read(messages); err != nil {
		t.Fatal(err)
	}
	one.ask(messages, "q0", "Where does Bo hike?", "Bergen", []int{0})
	all := unforeseen(t, "keep_all", func(s *memoryskill.Skill) {
		s.Description, s.Purpose, s.WhenToUse, s.HowToApply = "Adds facts.", "Keep information.",
			[]string{"The span brings facts"}, []string{"Start each item with the name of the speaker"}
	})
	sampled := func(int, []float64) (policy.Decision, error) { return policy.Decision{Chosen: idsOf(all)}, nil }
	p, err := play(one, all, sampled)
	if err != nil {
		t.Fatal(err)
	}
	room, tokens := p.episode.Room, 0
	for _, content := range p.items {
		tokens += textOf(content).tokens
	}
	if room == nil || len(room.Held) != len(one.spans) ||
		math.Abs(floats.Sum(room.Held)-float64(tokens)/float64(int(writeShare*float64(one.tokens)))) > 1e-9 {
		t.Fatalf("%+v with %d tokens", room, tokens)
	}
	if room.Price != 0 {
		t.Errorf("no answer was given up, and the price is %v", room.Price)
	}
	one.ask(messages, "q1", "What else was it about?", "kettle", []int{1})
	if p, err = play(one, all, sampled); err != nil || p.episode.Room.Price <= 0 {
		t.Errorf("%v: an answer was given up of %q, and the price is %v", err, p.items, p.episode.Room.Price)
	}
}

func TestWhatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	table := Table{Kind: Talk, Folds: map[string][]Measure{}, Runs: []RunSummary{{Rounds: 3}}}
	for _, row := range Rows {
		table.Folds[row] = []Measure{{Words: .5}, {Words: .6}}
	}
	for _, l := range Verdict([]Table{table}) {
		if strings.Contains(l.Says, "interval") && (l.OK || !strings.Contains(l.Reason, "no edit passed the gate")) {
			t.Errorf("%+v", l)
		}
	}
	table.Folds[Learned] = []Measure{{Words: .6}, {Words: .71}}
	for _, l := range Verdict([]Table{table}) {
		if !l.OK {
			t.Errorf("%+v", l)
		}
	}
}
