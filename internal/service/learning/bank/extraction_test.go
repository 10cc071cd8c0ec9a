package bank_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/prompt"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func span() executor.Span {
	return executor.Span{Parts: []executor.Part{{Seq: 4, Role: "user", Speaker: "Vera", Text: "I planted a lemon tree.",
		Time: time.Date(2024, 3, 1, 9, 0, 0, 0, time.UTC)}}}
}

func TestAModelIsShownSpanSkillsAndMemories(t *testing.T) {
	t.Parallel()
	script := pgtest.NewScript()
	var shown prompt.Material
	script.On(prompt.Remember, func(m prompt.Material) (string, error) {
		shown = m
		return pgtest.InsertAll(m)
	})
	in := bank.ExtractionInput{Step: "span/0", Lang: "en", Span: span(), Shown: []string{"gone", "mem-1"},
		Skills:   []memoryskill.Skill{{Name: "insert", Action: memoryskill.Insert}},
		Contents: map[string]string{"mem-1": "Likes tea"}}
	for range 2 {
		actions, outcome, err := bank.Extract(t.Context(), script, in)
		if err != nil || outcome != executor.OK || len(actions) != 1 {
			t.Errorf("%+v, %s, %v", actions, outcome, err)
		}
	}
	if len(script.Steps()) != 1 || len(shown.Stored) != 1 || shown.Stored[0].Handle != executor.HandlePrefix+"1" ||
		!strings.HasPrefix(shown.Messages[0].Content, "[2024-03-01 09:00]") || len(shown.Bank) != 1 {
		t.Errorf("%+v", shown)
	}
	if got := bank.Handles(in.Shown); got[executor.HandlePrefix+"1"] != "mem-1" {
		t.Errorf("%v", got)
	}
}

func TestAnAnswerThatCannotBeReadIsAnOutcome(t *testing.T) {
	t.Parallel()
	script := pgtest.NewScript()
	script.Say(prompt.Remember, `{"actions": [{"type": 7`)
	in := bank.ExtractionInput{Step: "span/0", Lang: "en", Span: span()}
	if _, outcome, err := bank.Extract(t.Context(), script, in); err != nil || outcome != executor.ParseError {
		t.Errorf("%s, %v", outcome, err)
	}
	down := errors.New("connection refused")
	script.On(prompt.Remember, func(prompt.Material) (string, error) { return "", down })
	in.Step = "span/1"
	if _, _, err := bank.Extract(t.Context(), script, in); !errors.Is(err, down) {
		t.Errorf("an outage: %v", err)
	}
}

func TestASessionIsReadWithoutSecrets(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	secret := "my key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH"
	r, err := l.Builds.Accept(t.Context(), build.Request{Workspace: l.DB.A.ID, Spec: l.Spec(),
		Messages: pgtest.Dialogue("The cellar is cold.", secret), Keeping: bank.DefaultSpanOptions()})
	testkit.Must(t, err)
	testkit.Must(t, l.Within(func(ctx context.Context, tx store.Tx) error {
		s, err := bank.ReadSession(ctx, tx, r.Ref.Run)
		testkit.Must(t, err)
		if len(s.Spans) == 0 || strings.Contains(s.Spans[0].Text(), "abcdefghijkl") {
			t.Errorf("%+v", s.Spans)
		}
		if a := s.Actor("span", 0); a.Run != r.Ref.Run || a.Op == "" || a.Subject.Author != s.Spec.Author {
			t.Errorf("%+v", a)
		}
		_, err = bank.ReadSession(ctx, tx, "run_00000000000000000000000000")
		if fault.CodeOf(err) != fault.NotFound {
			t.Errorf("a run that there is not: %v", err)
		}
		return nil
	}))
}
