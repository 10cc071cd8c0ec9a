package train_test

import (
	"strings"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/prompt"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/train"
	"cairn/internal/testkit"
)

// change returns a proposal of one new skill.
const change = `{"summary": "dates are lost", "changes": [{"action": "add_new", "name": null, "changes": null,
"reasoning": "lost", "skill": {
"name": "capture_dates", "title": "Capture dates", "description": "Adds dates and times of plans.", "purpose": ` +
	`"Keep them.",
"action": "insert", "when_to_use": ["A date is told"], "how_to_apply": ["One date in one item"], "constraints": ` +
	`["Ignore greetings"]}}]}`

func input(t *testing.T, step string) train.DesignInput {
	t.Helper()
	b, err := memoryskill.SeedBank(memoryskill.DefaultCapacity, true)
	testkit.Must(t, err)
	recipe, err := memoryskill.NewRecipe(memoryskill.TargetRecipe)
	testkit.Must(t, err)
	return train.DesignInput{Step: step, Lang: "en", Recipe: recipe, Bank: b,
		Cases: []learning.MinedCase{{Handle: "c0", Case: 1, Question: "When?", Gold: []string{"in March"}}}}
}

func with(s *pgtest.Script) train.Designer {
	return train.Designer{Encoder: bank.Encoder{Embedder: embedding.Hashing(64)}, Asker: s}
}

func TestCasesAreMinedWithWhatLostTheirAnswer(t *testing.T) {
	t.Parallel()
	failed := []train.FailedCase{{Case: learning.Case{ID: 1, Key: "q/1", Question: "Which tree was planted?",
		Gold:     []string{"lemon"},
		Evidence: []int{0}, Conversation: 7, Failures: 2}, Retrieved: []string{"Likes tea"},
		Items: []string{"Likes tea"}}}
	traces := map[int64]bank.EpisodeTrace{7: {Texts: map[int]string{0: "I planted a lemon tree."},
		Spans: []executor.Span{{Parts: []executor.Part{{Text: "I planted a lemon tree."}}}}}}
	got, err := with(pgtest.NewScript()).Mine(t.Context(), failed, traces, input(t, "d").Recipe)
	testkit.Must(t, err)
	if len(got) != 1 || got[0].Handle != "c0" || got[0].Case != 1 || got[0].Evidence[0] != "I planted a lemon tree." ||
		got[0].Retrieved[0] != "Likes tea" || got[0].Mechanism == "" {
		t.Errorf("%+v", got)
	}
	if train.DesignLanguage([]learning.MinedCase{{Question: "我住在哪里？"}}) != "zh" {
		t.Error("Chinese is not seen")
	}
}

func TestAnAnalysisIsCriticized(t *testing.T) {
	t.Parallel()
	script := pgtest.NewScript()
	script.Say(prompt.Diagnose, `{"summary": "dates are lost", "failure_patterns": [], "recommendations": []}`)
	in := input(t, "design")
	in.Cases[0].Question = "my key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH?"
	script.On(prompt.Diagnose, func(m prompt.Material) (string, error) {
		if strings.Contains(string(m.Cases), "abcdefghijkl") {
			t.Error("a secret is shown")
		}
		return `{"summary": "dates are lost", "failure_patterns": [], "recommendations": []}`, nil
	})
	for range 2 {
		got, err := with(script).Diagnose(t.Context(), in)
		if err != nil || got.Summary != "dates are lost" || len(script.Steps()) != 3 {
			t.Errorf("%+v, %v, %q", got, err, script.Steps())
		}
	}
	script.Say(prompt.Diagnose, "no JSON")
	// Retrying does not help: the replies are stored.
	if _, err := with(script).Diagnose(t.Context(), input(t, "other")); fault.CodeOf(err) != fault.ModelInvalid {
		t.Errorf("an analysis that cannot be read: %v", err)
	}
	n := 0
	script.On(prompt.Diagnose, func(prompt.Material) (string, error) {
		if n++; n == 1 {
			return "no JSON", nil
		}
		return `{"summary": "dates are lost", "failure_patterns": [], "recommendations": []}`, nil
	})
	if got, err := with(script).Diagnose(t.Context(), input(t, "late")); err != nil || got.Summary != "dates are lost" {
		t.Errorf("a later analysis: %+v, %v", got, err)
	}
}

func TestAProposalIsAskedForUntilItFits(t *testing.T) {
	t.Parallel()
	script := pgtest.NewScript()
	var problems []string
	script.On(prompt.Propose, func(m prompt.Material) (string, error) {
		if problems = m.Problems; len(problems) == 0 {
			return strings.ReplaceAll(change, `"insert"`, `"invent"`), nil
		}
		return change, nil
	})
	p, candidate, err := with(script).Propose(t.Context(), input(t, "design"), &learning.Analysis{})
	testkit.Must(t, err)
	if len(problems) != 1 || p.Action != designer.ApplyChanges || candidate == nil {
		t.Fatalf("%q: %+v, %+v", problems, p, candidate)
	}
	b, err := candidate.Bank()
	testkit.Must(t, err)
	if _, there := b.Get("capture_dates"); !there || len(candidate.Fresh) != 1 ||
		learning.DescribeCandidate(candidate) == "" {
		t.Errorf("%+v", candidate)
	}
}

func TestADesignerMayHaveNothingToPropose(t *testing.T) {
	t.Parallel()
	script := pgtest.NewScript()
	script.Say(prompt.Propose, `{"summary": "all is well", "changes": []}`)
	p, candidate, err := with(script).Propose(t.Context(), input(t, "design"), &learning.Analysis{})
	if err != nil || candidate != nil || p.Action != designer.NoChange {
		t.Errorf("%+v, %+v, %v", p, candidate, err)
	}
	script.Say(prompt.Propose, "no JSON")
	p, candidate, err = with(script).Propose(t.Context(), input(t, "other"), &learning.Analysis{})
	if err != nil || candidate != nil || p != nil || len(script.Steps()) != 4 {
		t.Errorf("%+v, %+v, %v, %q", p, candidate, err, script.Steps())
	}
}

// A designer that may only refine gets no new skill.
func TestAProposalOfARefiningDesignerAddsNothing(t *testing.T) {
	t.Parallel()
	script := pgtest.NewScript()
	var problems []string
	script.On(prompt.Propose, func(m prompt.Material) (string, error) {
		problems = append(problems, strings.Join(m.Problems, " "))
		return change, nil
	})
	in := input(t, "refine")
	in.RefineOnly = true
	_, candidate, err := with(script).Propose(t.Context(), in, &learning.Analysis{})
	if err != nil || candidate != nil || len(problems) != 3 || !strings.Contains(problems[0], "refine_existing") {
		t.Errorf("%+v, %v, problems %q", candidate, err, problems)
	}
}
