package loopbench

import (
	"strings"
	"testing"
	"time"

	"cairn/internal/memskill"
	"cairn/internal/transcript"
)

var talkAt = time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC)

// talk is a conversation long enough for the store to have to choose.
func talk(t *testing.T) *trace {
	t.Helper()
	out := &trace{id: "talk"}
	var messages []transcript.Message
	say := func(name, text string) {
		messages = append(messages, transcript.Message{Seq: len(messages), Role: transcript.User, Name: name, Content: text, Time: talkAt})
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

// unforeseen are skills whose names say nothing, or the contrary, of what they do.
func unforeseen(t *testing.T, name string, change func(*memskill.Skill)) memskill.Bank {
	t.Helper()
	s := memskill.Skill{Name: name, Title: "Zorb", Description: "Adds what the span tells of illnesses and diets.", Purpose: "Remember medical matters.",
		WhenToUse: []string{"The span speaks of medical matters"}, HowToApply: []string{"One item for each"}, Constraints: []string{"Ignore greetings"}, Action: memskill.Insert}
	if change != nil {
		change(&s)
	}
	v, err := memskill.NewVersion(s.Normalised(), "", memskill.Human, "test")
	if err != nil {
		t.Fatal(err)
	}
	b, err := memskill.NewBank(capacity, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func kept(t *testing.T, b memskill.Bank) string {
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
	other := kept(t, unforeseen(t, "quux_seven", func(s *memskill.Skill) {
		s.Description, s.Purpose, s.WhenToUse = "Adds where people are.", "Remember places.", []string{"The span names a place"}
	}))
	if !strings.Contains(other, "Bergen") || strings.Contains(other, "penicillin") {
		t.Errorf("a skill for places kept %q", other)
	}
	compact := kept(t, unforeseen(t, "quux_seven", func(s *memskill.Skill) {
		s.HowToApply = []string{"Use terse wording, and start with the name of the speaker"}
	}))
	if !strings.HasPrefix(compact, "Ada: ") || strings.Contains(compact, " am ") || !strings.Contains(compact, "penicillin") {
		t.Errorf("the form was not obeyed: %q", compact)
	}
	if none := kept(t, unforeseen(t, "quux_seven", func(s *memskill.Skill) { s.Constraints = []string{"Never store anything medical"} })); none != "" {
		t.Errorf("a refusal was not obeyed: %q", none)
	}
}

// The store never holds more than its share, whatever the skills offer.
func TestTheStoreHoldsNoMoreThanItsShare(t *testing.T) {
	t.Parallel()
	one := talk(t)
	all := unforeseen(t, "keep_all", func(s *memskill.Skill) {
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

func TestWhatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	table := Table{Kind: Talk, Folds: map[string][]Measure{}, Went: []Went{{Rounds: 3}}}
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
