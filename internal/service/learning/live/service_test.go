package live_test

import (
	"errors"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	"cairn/internal/service/learning/live"
	"cairn/internal/testkit"
)

func probeWants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// probes returns a probing run whose build has ended.
func probes(l *pgtest.Learning) run.Ref {
	t := l.DB.T
	t.Helper()
	l.DB.Choose(func(s *settings.Settings) {
		s.Memory.Builder = settings.BuilderSkills
		s.Memory.Learning.ExplorePerDay, s.Memory.Learning.ProbesPerDay = 100, 5
	})
	l.Script.On(prompt.Remember, pgtest.InsertAll)
	all := bank.DefaultSpanOptions()
	all.K = 4
	l.Script.Say(prompt.Probe, `{"probes": [
{"question": "How many lemon trees has the greenhouse?", "answer": "nine", "evidence": [0]},
{"question": "Where does the cellar key hang?", "answer": "by the kitchen door", "evidence": [0]},
{"question": "Where does Vera live?", "answer": "in Bergen", "evidence": [0]}]}`)
	r, err := l.Builds.Accept(t.Context(), build.Request{Workspace: l.DB.A.ID, WorkspaceKey: l.DB.A.Key, Spec: l.Spec(),
		Keeping: all, Messages: pgtest.Dialogue(
			"The greenhouse has nine lemon trees. The cellar key hangs by the kitchen door.")})
	testkit.Must(t, err)
	_, _, err = l.Builds.Open(t.Context(), r.Ref)
	testkit.Must(t, err)
	_, err = l.Builds.BuildSpan(t.Context(), r.Ref, 0)
	testkit.Must(t, err)
	for range 2 {
		_, err = l.Builds.Close(t.Context(), r.Ref, "", "")
		testkit.Must(t, err)
	}
	if n := l.DB.Number("select count(*) from runs where kind = 'probe'"); n != 1 {
		t.Fatalf("%d probings", n)
	}
	return l.Ref(l.DB.Text("select id from runs where kind = 'probe'"))
}

func TestEachStepOfAProbingIsDoneOnce(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ref := probes(l)
	for range 2 {
		over, err := l.Probes.Open(t.Context(), ref)
		if err != nil || over != nil {
			t.Fatalf("%+v, %v", over, err)
		}
		if n, err := l.Probes.Make(t.Context(), ref); err != nil || n != 2 {
			t.Fatalf("%d probes, %v", n, err)
		}
		for n := range 2 {
			testkit.Must(t, l.Probes.Ask(t.Context(), ref, n))
		}
	}
	probeWants(t, "a probe that there is not", l.Probes.Ask(t.Context(), ref, 2), fault.InvalidArgument)
	for range 2 {
		got, err := l.Probes.Close(t.Context(), ref, "", "")
		if err != nil || got.Outcome != run.Completed || got.Probes != 2 || got.Scored != 2 || got.Mean != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	}
	listed, err := l.Probes.List(t.Context(), l.DB.A.ID, bank.Default, 10)
	if err != nil || len(listed) != 2 || listed[0].State != live.StateScored || len(listed[0].Decisions) != 1 {
		t.Errorf("%+v, %v", listed, err)
	}
	if n := l.DB.Number("select count(*) from decision_outcomes where source = $1", live.FromProbe); n != 2 {
		t.Errorf("%d outcomes", n)
	}
}

func TestAnOutageOfTheModelPassesThrough(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ref := probes(l)
	down := errors.New("connection refused")
	l.Script.On(prompt.Probe, func(prompt.Material) (string, error) { return "", down })
	if _, err := l.Probes.Make(t.Context(), ref); !errors.Is(err, down) {
		t.Error(err)
	}
	got, err := l.Probes.Close(t.Context(), ref, string(fault.Unavailable), "the model does not answer")
	if err != nil || got.Outcome != run.Failed || got.Probes != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestFrozenLearningScoresNothing(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ref := probes(l)
	_, err := l.Probes.Make(t.Context(), ref)
	testkit.Must(t, err)
	l.DB.Choose(func(s *settings.Settings) { s.Memory.Learning.Frozen = true })
	testkit.Must(t, l.Probes.Ask(t.Context(), ref, 0))
	got, err := l.Probes.Close(t.Context(), ref, "", "not asked")
	if err != nil || got.Unscored != 1 || got.Errors != 1 || got.Outcome != run.CompletedPartial {
		t.Errorf("%+v, %v", got, err)
	}
}
