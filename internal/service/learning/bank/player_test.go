package bank_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/prompt"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/testkit"
)

// setup returns an episode with the primitives and an untrained policy.
func setup(t *testing.T) bank.EpisodeSetup {
	t.Helper()
	b, err := memoryskill.SeedBank(memoryskill.DefaultCapacity, true)
	testkit.Must(t, err)
	p, _, err := policy.PPOLearner{}.Start(nil, nil, policy.Form{Shape: policy.TowerShape, Dim: 16, Hidden: 8},
		keyedrand.Key{Run: "t"})
	testkit.Must(t, err)
	return bank.EpisodeSetup{Step: "episode/0", Score: bank.ByRecall, Bank: b, Policy: p,
		Keeping: bank.SpanOptions{K: 4, TopN: 5},
		Choose:  func(int) policy.Choice { return policy.Choice{K: 4, Greedy: true} }}
}

func trace() bank.EpisodeTrace {
	t := bank.EpisodeTrace{Lang: "en"}
	for i, text := range []string{"I planted a lemon tree.", "I planted a lemon tree.", "My sister prefers jam."} {
		t.Spans = append(t.Spans, executor.Span{Number: i, Parts: []executor.Part{{Seq: i, Role: "user", Text: text}}})
	}
	t.Questions = []learning.Case{{ID: 1, Question: "Which tree was planted?", Gold: []string{"lemon tree"},
		Evidence: []int{0}},
		{ID: 2, Question: "Who prefers jam?", Gold: []string{"sister"}, Evidence: []int{2}}}
	return t
}

func player(s *pgtest.Script) bank.EpisodePlayer {
	return bank.EpisodePlayer{Encoder: bank.Encoder{Embedder: embedding.Hashing(64)}, Asker: s}
}

func TestAnEpisodeIsTheSameWhenItIsPlayedAgain(t *testing.T) {
	t.Parallel()
	script := pgtest.NewScript()
	script.On(prompt.Remember, pgtest.InsertAll)
	first, err := player(script).Play(t.Context(), setup(t), trace())
	testkit.Must(t, err)
	again, err := player(script).Play(t.Context(), setup(t), trace())
	testkit.Must(t, err)
	if !reflect.DeepEqual(first, again) || len(script.Steps()) != 3 {
		t.Errorf("%+v\n%+v\n%q", first, again, script.Steps())
	}
	if first.Reward != 1 || !first.Known || len(first.Items) != 2 || len(first.Episode.Decisions) != 3 { // one twice
		t.Errorf("%+v", first)
	}
	if o := first.Outcomes(); o != (learning.EpisodeOutcomes{Of: 5}) || o.Alarming() {
		t.Errorf("%+v", o)
	}
}

func TestAnOutageMasksWhatItTook(t *testing.T) {
	t.Parallel()
	script := pgtest.NewScript()
	script.On(prompt.Remember, func(m prompt.Material) (string, error) {
		if strings.Contains(m.Messages[0].Content, "sister") {
			return "", fault.New(fault.ModelRefused, "the model declined", "")
		}
		return pgtest.InsertAll(m)
	})
	got, err := player(script).Play(t.Context(), setup(t), trace())
	testkit.Must(t, err)
	if len(got.Episode.Lost) != 1 || got.Failed != 1 || !got.Questions[0].Scored || got.Questions[1].Scored {
		t.Errorf("%+v", got)
	}
	if o := got.Outcomes(); o.Masked != 2 || !o.Alarming() || o.Useless() {
		t.Errorf("%+v", o)
	}
	down := errors.New("connection refused")
	script.On(prompt.Remember, func(prompt.Material) (string, error) { return "", down })
	in := setup(t)
	in.Step = "episode/1"
	if _, err := player(script).Play(t.Context(), in, trace()); !errors.Is(err, down) {
		t.Errorf("trouble that passes: %v", err)
	}
}

func TestAnswersAreScoredByAModel(t *testing.T) {
	t.Parallel()
	script := pgtest.NewScript()
	script.On(prompt.Remember, pgtest.InsertAll)
	script.On(prompt.Recite, func(m prompt.Material) (string, error) {
		if strings.Contains(m.Question, "jam") {
			return "no JSON", nil
		}
		return `{"answer": "lemon tree"}`, nil
	})
	in := setup(t)
	in.Score = bank.ByAnswer
	got, err := player(script).Play(t.Context(), in, trace())
	testkit.Must(t, err)
	if got.Questions[0].Score != 1 || got.Questions[0].Prediction != "lemon tree" || got.Questions[1].Scored {
		t.Errorf("%+v", got.Questions)
	}
}

func TestAnswersAreGradedByAModel(t *testing.T) {
	t.Parallel()
	script := pgtest.NewScript()
	script.On(prompt.Remember, pgtest.InsertAll)
	script.On(prompt.Recite, func(m prompt.Material) (string, error) {
		if strings.Contains(m.Question, "jam") {
			return `{"answer": "the aunt"}`, nil
		}
		return `{"answer": "a tree with lemons"}`, nil
	})
	script.On(prompt.Grade, func(m prompt.Material) (string, error) {
		if strings.Contains(string(m.Cases), "aunt") {
			return `{"reason": "partly", "score": 0.7}`, nil
		}
		return `{"reason": "right", "score": 1}`, nil
	})
	in := setup(t)
	in.Score = designer.ByGrade
	got, err := player(script).Play(t.Context(), in, trace())
	testkit.Must(t, err)
	if got.Questions[0].Score != 1 || !got.Questions[0].Scored || got.Questions[1].Scored { // 0.7 is no grade
		t.Errorf("%+v", got.Questions)
	}
	if got.Cost == 0 || got.Episode.Decisions[0].Tokens == 0 {
		t.Errorf("the chosen skills cost nothing: %+v", got)
	}
}

// fixed is an executor and a judge without a model.
type fixed struct{}

func (fixed) Execute(_ context.Context, in executor.Input) ([]executor.Action, executor.Outcome, error) {
	return []executor.Action{{Type: memoryskill.Insert, Content: in.Span.Text()}}, executor.OK, nil
}

func (fixed) Judge(_ context.Context, in designer.JudgeInput) (designer.JudgeVerdict, error) {
	return designer.JudgeVerdict{Score: float64(len(in.Retrieved)), Scored: true, Prediction: in.Question}, nil
}

func TestExecutorAndJudgeCanBeReplaced(t *testing.T) {
	t.Parallel()
	p := player(pgtest.NewScript()) // answers nothing
	p.Executor, p.Judge = fixed{}, fixed{}
	got, err := p.Play(t.Context(), setup(t), trace())
	testkit.Must(t, err)
	if len(got.Items) == 0 || got.Questions[0].Score < 1 || got.Questions[0].Prediction != "Which tree was planted?" {
		t.Errorf("%+v", got)
	}
}

func TestAnEpisodeChoosesAtLeastOneSkill(t *testing.T) {
	t.Parallel()
	in := setup(t)
	in.Keeping.K = 0
	if _, err := player(pgtest.NewScript()).Play(t.Context(), in, trace()); fault.CodeOf(err) != fault.InvalidArgument {
		t.Error(err)
	}
}

func TestRecallIsThatOfTheBestAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gold []string
		text string
		want float64
	}{{[]string{"lemon tree"}, "a lemon", .5}, {[]string{"walnut", "lemon tree"}, "lemon trees and a tree", 1},
		{nil, "x", 0}} {
		if got := bank.Recall(c.gold, c.text); got != c.want {
			t.Errorf("%q in %q: %v, want %v", c.gold, c.text, got, c.want)
		}
	}
}
