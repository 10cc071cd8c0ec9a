package train_test

import (
	"fmt"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/train"
	"cairn/internal/testkit"
)

func wants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// request returns a request for one iteration of two episodes.
func request(l *pgtest.Learning) train.Request {
	r := train.Request{Workspace: l.DB.A.ID, WorkspaceKey: l.DB.A.Key,
		Spec: train.Spec{RunSpec: l.Spec(), Stages: 1, Iterations: 1, Episodes: 2}}
	r.Keeping.Tokens, r.Keeping.K = 24, 10 // all skills
	return r
}

func TestATrainingIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	_, err := l.Trainings.Accept(t.Context(), request(l))
	wants(t, "nothing to train on", err, fault.NotFound)
	l.Import(1)
	_, err = l.Trainings.Accept(t.Context(), request(l))
	wants(t, "nothing to hold out", err, fault.InvalidArgument)
	l.Import(4)
	first, err := l.Trainings.Accept(t.Context(), request(l))
	testkit.Must(t, err)
	parallel := request(l)
	parallel.Parallel = 3 // does not change the result
	again, err := l.Trainings.Accept(t.Context(), parallel)
	if err != nil || again.Ref != first.Ref {
		t.Errorf("%v, then %v, %v", first.Ref, again.Ref, err)
	}
	for what, bad := range map[string]func(*train.Spec){
		"stages":  func(s *train.Spec) { s.Stages = -1 },
		"recipe":  func(s *train.Spec) { s.Recipe = "mine" },
		"score":   func(s *train.Spec) { s.Score = "taste" },
		"sample":  func(s *train.Spec) { s.Sample = 2 },
		"spans":   func(s *train.Spec) { s.Keeping.Mode = "sentence" },
		"fuse":    func(s *train.Spec) { s.Fuse = "median" },
		"nothing": func(s *train.Spec) { s.Keeping.K = -1 },
	} {
		r := request(l)
		bad(&r.Spec)
		_, err := l.Trainings.Accept(t.Context(), r)
		wants(t, what, err, fault.InvalidArgument)
	}
}

func TestEachStepOfATrainingIsDoneOnce(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx := t.Context()
	l.Script.On(prompt.Remember, pgtest.InsertAll)
	l.Import(4)
	r, err := l.Trainings.Accept(ctx, request(l))
	testkit.Must(t, err)
	if _, err := l.Trainings.Learn(ctx, r.Ref, 0, 0); err == nil {
		t.Error("an iteration without episodes is learnt from")
	}
	var iterations [2]train.IterationResult
	for i := range iterations {
		spec, over, err := l.Trainings.Open(ctx, r.Ref)
		if err != nil || over != nil || len(spec.Held) != 1 || len(spec.Traces) != 3 {
			t.Fatalf("%+v, %+v, %v", spec, over, err)
		}
		for e := range spec.Episodes {
			testkit.Must(t, l.Trainings.PlayEpisode(ctx, r.Ref, 0, 0, e))
		}
		iterations[i], err = l.Trainings.Learn(ctx, r.Ref, 0, 0)
		testkit.Must(t, err)
	}
	if iterations[0] != iterations[1] || iterations[0].Policy == "" ||
		iterations[0].Outcomes == (learning.EpisodeOutcomes{}) {
		t.Errorf("%+v, then %+v", iterations[0], iterations[1])
	}
	for range 2 {
		staged, err := l.Trainings.CloseStage(ctx, r.Ref, 0)
		if err != nil || !staged.Stop || len(staged.Kept) != 1 {
			t.Fatalf("%+v, %v", staged, err)
		}
		testkit.Must(t, l.Trainings.PlayTrial(ctx, r.Ref, 0))
	}
	wants(t, "a trial that there is not", l.Trainings.PlayTrial(ctx, r.Ref, 1), fault.InvalidArgument)
	if p, err := l.Trainings.Progress(ctx, r.Ref); err != nil || p.Done != 1 || p.Of != 1 || p.Stages != 1 ||
		p.Tried != 1 {
		t.Errorf("%+v, %v", p, err)
	}
	for range 2 {
		got, err := l.Trainings.Close(ctx, r.Ref, "", "")
		if err != nil || got.Outcome != run.Completed || got.Iterations != 1 || got.Gate == nil || got.Version != 0 ||
			got.Verdict != train.NotEnough {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if _, over, err := l.Trainings.Open(ctx, r.Ref); err != nil || over == nil {
		t.Errorf("opened when it has ended: %+v, %v", over, err)
	}
	if n := l.DB.Number("select count(*) from bank_versions"); n != 1 { // both sides have equal results
		t.Errorf("%d versions", n)
	}
}

func TestATrainingThatIsGivenUpPromotesNothing(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	l.Import(4)
	r, err := l.Trainings.Accept(t.Context(), request(l))
	testkit.Must(t, err)
	_, _, err = l.Trainings.Open(t.Context(), r.Ref)
	testkit.Must(t, err)
	other := request(l)
	other.ID = "other"
	second, err := l.Trainings.Accept(t.Context(), other)
	testkit.Must(t, err)
	_, _, err = l.Trainings.Open(t.Context(), second.Ref)
	wants(t, "a bank with another writer", err, fault.Unavailable)
	got, err := l.Trainings.Close(t.Context(), r.Ref, string(fault.Cancelled), "stopped")
	if err != nil || got.Outcome != run.CancelledOutcome || got.Note != "stopped" {
		t.Errorf("%+v, %v", got, err)
	}
	_, _, err = l.Trainings.Open(t.Context(), second.Ref) // the bank is free
	testkit.Must(t, err)
	if head, err := l.Banks.Head(t.Context(), l.DB.A.ID, bank.Default); err != nil || head.Head != 1 {
		t.Errorf("version %d, %v", head.Head, err)
	}
}

// kinds is a world in which choice matters: trees and jam each need a skill of their own, and with
// other skills for inserts the model is confused and remembers nothing.
func kinds(l *pgtest.Learning) {
	t := l.DB.T
	t.Helper()
	files := map[string][]byte{}
	for name, what := range map[string]string{"capture_trees": "trees that were planted",
		"capture_jam": "jam and who prefers it"} {
		insert := memoryskill.Primitives()[0]
		insert.Name, insert.Title, insert.Description = name, "Capture "+what, "Adds what the span says of "+what+"."
		files[name+".md"] = memoryskill.Render(insert)
	}
	_, err := l.Banks.Import(t.Context(), l.DB.A.ID, bank.Default, files)
	testkit.Must(t, err)
	l.Script.On(prompt.Remember, func(m prompt.Material) (string, error) {
		var skills []string
		for _, s := range m.Bank {
			skills = append(skills, s.Name)
		}
		right := map[bool]string{true: "capture_trees", false: "capture_jam"}
		if len(skills) == 1 && skills[0] == right[strings.Contains(m.Messages[0].Content, "tree")] {
			return pgtest.InsertAll(m)
		}
		return `{"actions": []}`, nil
	})
	var traces []bank.ImportedTrace
	for i := range 3 * designer.MinTraces {
		year := 2000 + i
		traces = append(traces, bank.ImportedTrace{ID: fmt.Sprint("t", i), Messages: pgtest.Dialogue(
			fmt.Sprintf("I planted a lemon tree and a walnut tree behind the shed in %d.", year),
			fmt.Sprintf("My sister prefers cherry jam for breakfast since the summer of %d.", year)),
			Questions: []bank.ImportedQuestion{
				{Question: fmt.Sprintf("Which trees were planted in %d?", year), Answers: []string{"lemon walnut"},
					Evidence: []int{0}},
				{Question: fmt.Sprintf("Who prefers which jam since %d?", year), Answers: []string{"sister cherry"},
					Evidence: []int{1}}}})
	}
	_, err = l.Cases.Import(t.Context(), l.DB.A.ID, "", traces)
	testkit.Must(t, err)
}

// A training whose choices beat what live builds do, all skills, and the best fixed set is promoted
// once. Its rollback restores bank and policy.
func TestATrainingThatBeatsEachSideIsPromoted(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx := t.Context()
	ref, before := beating(l)
	for range 2 {
		got, err := l.Trainings.Close(ctx, ref, "", "")
		if err != nil || got.Verdict != learning.Promoted || got.Version != before.Head+1 || got.Gate.Lower <= 0 ||
			got.Gate.All.Lower <= 0 || got.Gate.Fixed.Lower <= 0 || got.Gate.Fixed.Mean > .7 {
			t.Fatalf("%+v %+v, %v", got, got.Gate, err)
		}
	}
	back, err := l.Banks.Rollback(ctx, l.DB.A.ID, bank.Default, before.Head)
	if err != nil || back.Snapshot() != before.Snapshot() {
		t.Errorf("%+v, %v", back.Version, err)
	}
}

// A bank that is frozen during its training stays as it is, and the training ends.
func TestATrainingOfABankThatIsFrozenMeanwhileChangesNothing(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx := t.Context()
	ref, before := beating(l)
	_, err := l.Banks.Freeze(ctx, l.DB.A.ID, bank.Default, true)
	testkit.Must(t, err)
	got, err := l.Trainings.Close(ctx, ref, "", "")
	if err != nil || got.Verdict != learning.Rejected || got.Version != 0 || !strings.Contains(got.Note, "frozen") {
		t.Errorf("%+v, %v", got, err)
	}
	if after, err := l.Banks.Head(ctx, l.DB.A.ID, bank.Default); err != nil || after.Head != before.Head {
		t.Errorf("version %d, was %d, %v", after.Head, before.Head, err)
	}
}

// beating plays a training whose choices beat each side, up to its end. It returns the bank before.
func beating(l *pgtest.Learning) (run.Ref, bank.Head) {
	t := l.DB.T
	t.Helper()
	ctx := t.Context()
	kinds(l)
	l.DB.Choose(func(s *settings.Settings) { s.Memory.Skills.K = 1 })
	before, err := l.Banks.Head(ctx, l.DB.A.ID, bank.Default)
	testkit.Must(t, err)
	r := request(l)
	r.Keeping.K, r.Iterations, r.Episodes = 0, 25, 4
	accepted, err := l.Trainings.Accept(ctx, r)
	testkit.Must(t, err)
	ref := accepted.Ref
	spec, _, err := l.Trainings.Open(ctx, ref)
	testkit.Must(t, err)
	if spec.Keeping.K != 1 || len(spec.Held) != designer.MinTraces {
		t.Fatalf("%d skills per span, %d held out", spec.Keeping.K, len(spec.Held))
	}
	for i := range spec.Iterations {
		for e := range spec.Episodes {
			testkit.Must(t, l.Trainings.PlayEpisode(ctx, ref, 0, i, e))
		}
		_, err := l.Trainings.Learn(ctx, ref, 0, i)
		testkit.Must(t, err)
	}
	_, err = l.Trainings.CloseStage(ctx, ref, 0)
	testkit.Must(t, err)
	for n := range spec.Held {
		testkit.Must(t, l.Trainings.PlayTrial(ctx, ref, n))
	}
	return ref, before
}
