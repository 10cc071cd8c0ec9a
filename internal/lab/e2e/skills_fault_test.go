package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cairn/internal/app"
	"cairn/internal/domain/fault"
	domainlearning "cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/learning"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	trainer "cairn/internal/service/learning/train"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// shaky fails one transaction or one embedding of a step, counted from 0: before it runs, or
// after it by losing the response.
type shaky struct {
	lose, n   int
	afterward bool
	hit       bool
}

var errDied = errors.New("the worker died")

func (s *shaky) through(do func() error) error {
	s.n++
	if s.n-1 != s.lose {
		return do()
	}
	s.hit = true
	if s.afterward {
		if err := do(); err != nil {
			return err
		}
	}
	return errDied
}

// around is through for the transactions of a store.
func (s *shaky) around(_ context.Context, run func() error) error { return s.through(run) }

// survive runs a step repeatedly. Each attempt fails one point later, before or after that
// point, until the step completes.
func (s *shaky) survive(t *testing.T, what string, step func() error) {
	t.Helper()
	for s.lose = 0; ; s.lose++ {
		for _, s.afterward = range []bool{false, true} {
			s.n, s.hit = 0, false
			err := step()
			if !s.hit {
				if err != nil {
					t.Fatalf("%s, after %d deaths: %v", what, 2*s.lose, err)
				}
				return
			}
			if !errors.Is(err, errDied) && !strings.Contains(fmt.Sprint(err), errDied.Error()) &&
				!strings.Contains(fmt.Sprint(err), "embedder") {
				t.Fatalf("%s died and says %v", what, err)
			}
		}
	}
}

type shakyEmbedder struct {
	bank.Embedder
	*shaky
}

func (s shakyEmbedder) Embed(ctx context.Context, texts []string) (out [][]float32, err error) {
	err = s.through(func() error {
		out, err = s.Embedder.Embed(ctx, texts)
		return err
	})
	return out, err
}

// shaken returns the learning service with a worker that fails.
func shaken(b *apptest.Bundle) (*learning.Service, *shaky) {
	s := &shaky{lose: -1}
	return shakenWith(b, shakyEmbedder{b.Learning.Ports.Embedder, s}, s), s
}

// shakenWith is like shaken with another embedder.
func shakenWith(b *apptest.Bundle, e bank.Embedder, s *shaky) *learning.Service {
	b.T.Helper()
	p, memory := b.Learning.Ports, *b.LongTerm
	memory.Store = memory.Store.Intercept(s.around)
	p.Store, p.Embedder, p.Starter, p.Memories = p.Store.Intercept(s.around), e, nil, &memory
	service := learning.New(p)
	return service
}

// Wherever and however often a worker dies during a build, all effects happen once: memories,
// decisions, paid calls and skill statistics.
func TestABuildIsDoneOnceWhateverDies(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Model.On(openaitest.Rule{Stage: "remember", ReplyFunc: keeper})
	service, dies := shaken(b)
	var r run.Run
	dies.survive(t, "accept", func() (err error) {
		r, err = service.Builds.Accept(t.Context(),
			build.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Messages: building(),
				Spec: app.EvolveSpec(b.Config), Keeping: keeping()})
		return err
	})
	dies.survive(t, "open", func() error { _, _, err := service.Builds.Open(t.Context(), r.Ref); return err })
	for n := range 3 {
		dies.survive(t, fmt.Sprint("span ", n), func() error {
			_, err := service.Builds.BuildSpan(t.Context(), r.Ref, n)
			return err
		})
	}
	var got build.Result
	dies.survive(t, "close", func() (err error) {
		got, err = service.Builds.Close(t.Context(), r.Ref, "", "")
		return err
	})
	if got.Outcome != run.Completed || len(got.Added) != 2 || len(got.Updated) != 1 {
		t.Errorf("%+v", got)
	}
	for what, want := range map[string]int{"runs": 1, "memory_revisions where decision_id <> ''": 3, "decisions": 3,
		"llm_calls where state = 'done'": 3, "memories where type = 'personal' and status = 'active'": 2} {
		if n := count(b, "select count(*) from cairn."+what); n != want {
			t.Errorf("%d of %s, want %d", n, what, want)
		}
	}
	if n := len(asked(b, "remember")); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	if n, _, usage := scored(b); n != 0 || math.Abs(usage-(1-math.Pow(.9, 3))) > 1e-9 {
		t.Errorf("skills are scored %d times, with usage %v", n, usage)
	}
}

// playTraining runs a training step by step. It runs each step with the function through.
func playTraining(t *testing.T, b *apptest.Bundle, service *learning.Service,
	with func(what string, step func() error)) (out domainlearning.TrainingResult, ref run.Ref) {
	t.Helper()
	traces := lessons(4)
	for i := range traces { // without feedback these stay hard cases
		traces[i].Questions = append(traces[i].Questions,
			bank.ImportedQuestion{Question: "Which boat did Otto buy?", Answers: []string{"schooner"}})
	}
	_, err := b.Learning.Cases.Import(t.Context(), b.Workspace.ID, "", traces)
	testkit.Must(t, err)
	spec := trainer.Spec{RunSpec: app.EvolveSpec(b.Config), Stages: 2, Iterations: 2, Episodes: 2, Design: true}
	spec.Keeping.Tokens = 24
	with("accept", func() error {
		r, err := service.Trainings.Accept(t.Context(),
			trainer.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Spec: spec})
		ref = r.Ref
		return err
	})
	with("open", func() error { _, _, err := service.Trainings.Open(t.Context(), ref); return err })
	for stage := range spec.Stages {
		for i := range spec.Iterations {
			for e := range spec.Episodes {
				with(fmt.Sprintf("episode %d/%d/%d", stage, i, e), func() error {
					return service.Trainings.PlayEpisode(t.Context(), ref, stage, i, e)
				})
			}
			with(fmt.Sprintf("learn %d/%d", stage, i), func() error {
				_, err := service.Trainings.Learn(t.Context(), ref, stage, i)
				return err
			})
		}
		with(fmt.Sprintf("stage %d", stage), func() error {
			_, err := service.Trainings.CloseStage(t.Context(), ref, stage)
			return err
		})
	}
	with("trial", func() error { return service.Trainings.PlayTrial(t.Context(), ref, 0) })
	with("close", func() (err error) { out, err = service.Trainings.Close(t.Context(), ref, "", ""); return err })
	return out, ref
}

// trainedState returns the results of a training: the outcome, the bank and its policy, the
// buffer of hard cases and the skill statistics.
func trainedState(b *apptest.Bundle, out domainlearning.TrainingResult) (state []string) {
	b.T.Helper()
	head, err := b.Learning.Banks.Head(b.T.Context(), b.Workspace.ID, bank.Default)
	testkit.Must(b.T, err)
	whole, err := json.Marshal(out)
	testkit.Must(b.T, err)
	state = append(state, string(whole), head.Version.BankSHA, head.Version.Policy, head.Version.Optimizer)
	state = append(state, column[string](b, "select step || ' ' || coalesce(result->>'hard', '') from "+
		"cairn.training_steps where step ~ '^stage/[0-9]+$' order by step")...)
	return append(state, column[string](b,
		"select skill_id || ' ' || stats::text from cairn.skill_stats order by skill_id")...)
}

// A training whose worker dies at every point has the same results as an undisturbed one: bank,
// policy, optimizer, buffer of cases and statistics.
func TestATrainingIsTheSameWhateverDies(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	alone := apptest.OpenIdle(t, offlineRules)
	out, _ := playTraining(t, alone, alone.Learning, func(what string, step func() error) {
		if err := step(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	})
	want := trainedState(alone, out)
	if out.Outcome != run.Completed || out.Gate == nil || !strings.Contains(strings.Join(want, "\n"), `"failures": `) {
		t.Fatalf("nothing failed, nothing to compare: %q", want)
	}
	b := apptest.OpenIdle(t, offlineRules)
	dies := &shaky{lose: -1}
	service := shakenWith(b, b.Learning.Ports.Embedder, dies) // it fails in the test of a build
	out, _ = playTraining(t, b, service, func(what string, step func() error) { dies.survive(t, what, step) })
	if got := trainedState(b, out); !slices.Equal(got, want) {
		t.Errorf("died everywhere: %q\nleft alone: %q", got, want)
	}
	if n := count(b, "select count(*) from cairn.bank_versions"); n != 1 { // one held-out conversation decides nothing
		t.Errorf("%d versions of the bank", n)
	}
}

// firstEpisode opens a training and plays its first episode.
func firstEpisode(b *apptest.Bundle, change ...func(*trainer.Spec)) (out bank.EpisodeResult, ref run.Ref) {
	b.T.Helper()
	service, _ := shaken(b)
	spec := trainer.Spec{RunSpec: app.EvolveSpec(b.Config), Stages: 1, Iterations: 1, Episodes: 1}
	spec.Keeping.Tokens = 24
	for _, f := range change {
		f(&spec)
	}
	r, err := service.Trainings.Accept(b.T.Context(),
		trainer.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Spec: spec})
	testkit.Must(b.T, err)
	_, _, err = service.Trainings.Open(b.T.Context(), r.Ref)
	testkit.Must(b.T, err)
	testkit.Must(b.T, service.Trainings.PlayEpisode(b.T.Context(), r.Ref, 0, 0, 0))
	b.Within(func(ctx context.Context, q store.Tx) error {
		raw, found, err := q.Training().StepResult(ctx, r.Ref.Run, "episode/0000/00000/000")
		if err == nil && !found {
			err = errors.New("the episode was not kept")
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(raw, &out)
	})
	return out, r.Ref
}

// An outcome lost to an outage is not a failure. Its decision gets no credit, its questions have
// no score, and the other outcomes are unaffected.
func TestAnOutageIsMaskedAndNoFailure(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	_, err := b.Learning.Cases.Import(t.Context(), b.Workspace.ID, "", lessons(4))
	testkit.Must(t, err)
	b.Model.On(openaitest.Rule{Stage: "remember", Match: "I planted a", Refusal: "not available"})
	b.Model.On(openaitest.Rule{Stage: "remember", ReplyFunc: everything})
	got, ref := firstEpisode(b)
	if len(got.Episode.Lost) != 1 || got.Failed != 1 || got.Reward != 1 || !got.Known {
		t.Fatalf("lost %v, reward %v, known %v", got.Episode.Lost, got.Reward, got.Known)
	}
	for i, want := range []bool{false, true} { // where the tree was planted, and who prefers jam
		if got.Questions[i].Scored != want || got.Episode.Queries[i].Scored != want {
			t.Errorf("question %d: %+v", i, got.Questions[i])
		}
	}
	steps, err := policy.DefaultCredit().Steps([]policy.Episode{got.Episode})
	testkit.Must(t, err)
	for _, s := range steps {
		if lost := slices.Contains(got.Episode.Lost, s.ID); lost && (s.Credited || s.Reward != 0) {
			t.Errorf("the lost decision is credited: %+v", s)
		}
	}
	learnt, err := b.Learning.Trainings.Learn(t.Context(), ref, 0, 0)
	testkit.Must(t, err)
	if math.Abs(learnt.Reward-(got.Reward-got.Cost)) > 1e-9 || !learnt.Known || learnt.Failed != 1 {
		t.Errorf("%+v", learnt)
	}
	if n := count(b, "select count(*) from cairn.skill_stats where (stats->>'mean')::float8 < 0.9 and "+
		"(stats->>'count')::int > 0"); n != 0 {
		t.Errorf("%d skills were marked down", n)
	}
}

// If no question could be asked, the policy does not change.
func TestAnIterationWithoutAScoreTeachesNothing(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	_, err := b.Learning.Cases.Import(t.Context(), b.Workspace.ID, "", lessons(4))
	testkit.Must(t, err)
	b.Model.On(openaitest.Rule{Stage: "remember", Refusal: "not available"})
	before, err := b.Learning.Banks.Head(t.Context(), b.Workspace.ID, bank.Default)
	testkit.Must(t, err)
	got, ref := firstEpisode(b)
	if got.Known || len(got.Episode.Lost) != len(got.Episode.Decisions) {
		t.Errorf("%+v", got)
	}
	learnt, err := b.Learning.Trainings.Learn(t.Context(), ref, 0, 0)
	testkit.Must(t, err)
	if learnt.Known || learnt.Steps != 0 || learnt.Policy != before.Version.Policy {
		t.Errorf("%+v", learnt)
	}
	if n := count(b, "select count(*) from cairn.skill_stats where (stats->>'count')::int > 0"); n != 0 {
		t.Errorf("%d skills were scored", n)
	}
	// The stage has no lower score either: the training ends, and the bank stays.
	_, err = b.Learning.Trainings.CloseStage(t.Context(), ref, 0)
	if code := fault.CodeOf(err); code != fault.ModelRejected || fault.Table[code].Retryable {
		t.Errorf("a stage without a score: %v", err)
	}
	out, err := b.Learning.Trainings.Close(t.Context(), ref, string(fault.CodeOf(err)), err.Error())
	testkit.Must(t, err)
	if now, err := b.Learning.Banks.Head(t.Context(), b.Workspace.ID, bank.Default); err != nil ||
		out.Outcome != run.Failed || now.Head != 1 {
		t.Errorf("%+v, version %d, %v", out, now.Head, err)
	}
}

// everything is a model that saves every message.
func everything(c openaitest.Call) string {
	m, err := prompt.ReadMaterial(c.Messages[1].Content)
	if err != nil {
		return err.Error()
	}
	actions := []any{}
	for _, said := range m.Messages {
		actions = append(actions, map[string]any{"type": "insert", "content": said.Content, "about": "Vera",
			"evidence": []int{said.Index}})
	}
	raw, _ := json.Marshal(map[string]any{"actions": actions})
	return string(raw)
}

// A training explores the skills that are new in its first version.
func TestATrainingExploresNewSkills(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t, offlineRules)
	_, err := b.Learning.Cases.Import(t.Context(), b.Workspace.ID, "", lessons(4))
	testkit.Must(t, err)
	trees := memoryskill.Skill{Name: "capture_trees", Title: "Capture trees",
		Description: "Adds what the span tells of trees and jam.", Purpose: "Keep them.", Action: memoryskill.Insert,
		WhenToUse: []string{"The span tells of trees"}, HowToApply: []string{"One fact in one item"},
		Constraints: []string{"Ignore greetings"}}
	head, err := b.Learning.Banks.Import(t.Context(), b.Workspace.ID, bank.Default,
		map[string][]byte{"trees.md": memoryskill.Render(trees)})
	testkit.Must(t, err)
	if len(head.Version.Fresh) != 1 {
		t.Fatalf("new: %v", head.Version.Fresh)
	}
	explored := 0
	played, _ := firstEpisode(b)
	for _, d := range played.Episode.Decisions {
		if reflect.DeepEqual(d.Fresh, head.Version.Fresh) && d.Bias > 0 {
			explored++
		}
	}
	if explored == 0 {
		t.Errorf("the new skill has no bias in %d decisions", len(played.Episode.Decisions))
	}
}

// If the active policy is of another kind, a recipe starts with a new policy of its own kind.
func TestARecipeTrainsAPolicyOfItsKind(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t, offlineRules)
	_, err := b.Learning.Cases.Import(t.Context(), b.Workspace.ID, "", lessons(4))
	testkit.Must(t, err)
	played, ref := firstEpisode(b, func(s *trainer.Spec) { s.Recipe = memoryskill.PaperRecipe })
	learnt, err := b.Learning.Trainings.Learn(t.Context(), ref, 0, 0)
	testkit.Must(t, err)
	var blob []byte
	b.Within(func(ctx context.Context, q store.Tx) (err error) {
		blob, err = q.Banks().Blob(ctx, "policy", learnt.Policy)
		return err
	})
	weights, err := policy.ParsePolicy(blob)
	testkit.Must(t, err)
	if want := policy.DotShape(memoryskill.PolicyDims, memoryskill.PolicyHidden); weights.Shape() != want ||
		len(played.Episode.Decisions) == 0 {
		t.Errorf("the paper's recipe trains a policy of %+v, want %+v", weights.Shape(), want)
	}
}
