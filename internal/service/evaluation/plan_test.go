package evaluation

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/transcript"
	"cairn/internal/testkit"
)

// talk is a conversation of one span with some questions.
func talk(id string, questions int) Sample {
	s := Sample{ID: id, Messages: []transcript.Message{{Role: transcript.User, Content: "I bought a kite."}}}
	for i := range questions {
		s.Questions = append(s.Questions, Question{ID: fmt.Sprint(i), Text: "What?", Gold: []string{"kite"}})
	}
	return s
}

func planned(t *testing.T, rows ...string) (Spec, []Sample) {
	t.Helper()
	samples := []Sample{talk("a", 3), talk("b", 3), talk("c", 3)}
	r := Request{Data: Data{Dataset: LoCoMo, Samples: samples}, Rows: rows,
		Split: Split{Train: []string{"a"}, Validation: []string{"b"}, Test: []string{"c"}}}
	r.Model.Name, r.Judge = "m", "j"
	spec, err := r.withDefaults()
	testkit.Must(t, err)
	return spec, samples
}

// An estimate counts spans, answers, verdicts, trainings and rounds of the designer.
func TestAnEstimateCountsCalls(t *testing.T) {
	t.Parallel()
	prices := llm.Prices{"m": {InputMicros: 1_000_000}, "j": {InputMicros: 1_000_000}}
	for _, c := range []struct {
		rows  []string
		calls float64 // without repairs
	}{
		{[]string{None}, 6},
		{[]string{Static}, 1 + 6},
		{[]string{None, Static, Random}, 6 + 7 + 7},
		{[]string{Evolved, EvolvedLearned}, 2*3*2 + roundCalls + 7 + 7}, // one training for both
	} {
		spec, samples := planned(t, c.rows...)
		got := spec.estimate(samples, nil, prices)
		if want := int(math.Round(c.calls * repairs)); got.Calls != want || got.Input == 0 || got.Output == 0 ||
			!got.Priced || got.CostMicros == 0 {
			t.Errorf("%v: %+v, want %d calls", c.rows, got, want)
		}
		if unpriced := spec.estimate(samples, nil, llm.Prices{}); unpriced.Priced {
			t.Errorf("%v: %+v without prices", c.rows, unpriced)
		}
	}
}

func TestTheKeyOfAnEvaluationDependsOnItsResults(t *testing.T) {
	t.Parallel()
	spec, _ := planned(t, None, Static)
	same := spec
	same.Revision, same.Estimate.Calls = "other", 7
	if same.key() != spec.key() {
		t.Error("the key depends on the program")
	}
	for what, change := range map[string]func(*Spec){"model": func(s *Spec) { s.Model.Name = "x" },
		"data": func(s *Spec) { s.DataSHA = "x" }, "seed": func(s *Spec) { s.Seed = "x" },
		"judge": func(s *Spec) { s.Judge = "" }, "prompt": func(s *Spec) { s.Prompts = nil }} {
		other := spec
		if change(&other); other.key() == spec.key() {
			t.Errorf("the key does not depend on the %s", what)
		}
	}
}

func TestFixedSetsCanInsert(t *testing.T) {
	t.Parallel()
	spec, _ := planned(t, BestFixed)
	spec.Sets, spec.Keeping.K = 50, 2
	sets := spec.sets()
	if len(sets) < 2 {
		t.Fatalf("sets %v", sets)
	}
	for _, set := range sets {
		if len(set) != 2 || !strings.Contains(strings.Join(set, " "), "insert") && len(sets) < 4 {
			t.Errorf("set %v", set)
		}
	}
	units, prepared := spec.units()
	if prepared != len(sets) || units[0].Sample != "b" || units[prepared].Sample != "c" {
		t.Errorf("%d of %+v prepare", prepared, units)
	}
	spec.Split.Validation, spec.Split.Train = nil, nil
	if sets := spec.sets(); len(sets) != 1 {
		t.Errorf("without a conversation to select on: %v", sets)
	}
}

func TestIntervalsArePairedByConversation(t *testing.T) {
	t.Parallel()
	base := []Scores{{Name: "a", F1: .2}, {Name: "b", F1: .4}, {Name: "c", F1: .6}}
	row := []Scores{{Name: "c", F1: .7}, {Name: "a", F1: .3}, {Name: "x", F1: 1}}
	got := versus(row, base)
	if got.Conversations != 2 || math.Abs(got.F1Difference-.1) > 1e-9 || got.F1 == nil ||
		got.F1.High-got.F1.Low > 1e-9 || got.Judge != nil {
		t.Errorf("%+v, %+v", got, got.F1)
	}
	// t(0.975, 1) = 12.706 for two values
	if i := interval([]float64{0, 1}); i.Mean != .5 || math.Abs(i.High-.5-12.706*.5) > .01 {
		t.Errorf("%+v", i)
	}
	if interval([]float64{1}) != nil || versus(row[2:], base) != nil {
		t.Error("an interval of one conversation")
	}
}
