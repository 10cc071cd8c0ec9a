package build_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/prompt"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/testkit"
)

// more returns messages of different kinds, a span each.
func more() []transcript.Message {
	return pgtest.Dialogue("We will meet the tax adviser on Tuesday, she is called Mina.",
		"I cannot stand liquorice, but I like every kind of lemon cake that Otto bakes.",
		"No, the shed costs 4,300 euros and not 3,400, as I said last week.")
}

// builtOfThree builds a session with three skills for each span, and returns the number of spans.
func builtOfThree(t *testing.T, l *pgtest.Learning) int {
	t.Helper()
	l.Script.Say(prompt.Remember, `{"actions": []}`)
	r := request(l)
	r.Keeping.K = 3
	r.Messages = append(r.Messages, more()...)
	accepted, err := l.Builds.Accept(t.Context(), r)
	testkit.Must(t, err)
	spans, _, err := l.Builds.Open(t.Context(), accepted.Ref)
	testkit.Must(t, err)
	for n := range spans {
		_, err := l.Builds.BuildSpan(t.Context(), accepted.Ref, n)
		testkit.Must(t, err)
	}
	return spans
}

// In a fresh workspace the policy has a choice to make: different spans get different skills, with
// probabilities below one.
func TestChoicesDifferInAFreshWorkspace(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	l.DB.Choose(func(s *settings.Settings) { s.Memory.Builder = settings.BuilderSkills })
	spans := builtOfThree(t, l)
	listed, _, err := l.Builds.Decisions(t.Context(), l.DB.A.ID, bank.Default, "", 100)
	testkit.Must(t, err)
	if len(listed) != spans || spans < 5 {
		t.Fatalf("%d decisions about %d spans", len(listed), spans)
	}
	chosen := map[string]bool{}
	for _, d := range listed {
		chosen[strings.Join(d.Chosen, " ")] = true
		if !d.Sampled || d.Propensity <= 0 || d.Propensity >= 1 || d.Candidates != 10 || len(d.Chosen) != 3 ||
			d.Tokens == 0 || d.Outcome != "ok" && d.Outcome != "noop" {
			t.Errorf("%+v", d)
		}
	}
	if len(chosen) < 2 {
		t.Errorf("all spans have the choice %v", chosen)
	}
}

// Without a drawn choice, an untrained policy has no reason to distinguish spans.
func TestAnUntrainedPolicyChoosesGreedilyInAFixedOrder(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	l.DB.Choose(func(s *settings.Settings) { s.Memory.Learning.ExplorePerDay = 2 })
	spans := builtOfThree(t, l)
	listed, _, err := l.Builds.Decisions(t.Context(), l.DB.A.ID, "", "", 100)
	if err != nil || len(listed) != spans || spans < 4 {
		t.Fatalf("%d decisions about %d spans, %v", len(listed), spans, err)
	}
	drawn := 0
	for _, d := range listed {
		if d.Sampled {
			drawn++
		} else if d.Propensity != 1 || strings.Join(d.Chosen, " ") != "insert update delete" || d.Scores != 0 ||
			d.Score != nil {
			t.Errorf("%+v", d)
		}
	}
	if drawn != 2 {
		t.Errorf("%d choices were drawn, want 2", drawn)
	}
}

func TestDecisionsAreThoseOfABank(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	if _, _, err := l.Builds.Decisions(t.Context(), l.DB.A.ID, "other", "", 1); err == nil {
		t.Error("a bank that there is not")
	}
}

// Chinese sessions get the Chinese texts of the shipped skills.
func TestShippedSkillsSpeakTheLanguageOfTheSession(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	var shown prompt.Material
	l.Script.On(prompt.Remember, func(m prompt.Material) (string, error) {
		shown = m
		return `{"actions": []}`, nil
	})
	r := request(l)
	r.Keeping.K = 10
	r.Messages = pgtest.Dialogue("我下周二要去杭州见税务顾问，她叫米娜。")
	accepted, err := l.Builds.Accept(t.Context(), r)
	testkit.Must(t, err)
	_, err = l.Builds.BuildSpan(t.Context(), accepted.Ref, 0)
	testkit.Must(t, err)
	if len(shown.Bank) != 10 {
		t.Fatalf("%+v", shown.Bank)
	}
	for _, s := range shown.Bank {
		if strings.ContainsAny(s.Purpose, "aeiou") {
			t.Errorf("%s: %s", s.Name, s.Purpose)
		}
	}
}
