package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"cairn/internal/app"
	"cairn/internal/domain/contract"
	"cairn/internal/domain/fault"
	domainlearning "cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/metrics"
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

// trainedUntilTheGate runs one stage of one iteration with all skills for each span, so
// that both sides of the gate have equal results.
func trainedUntilTheGate(t *testing.T, b *apptest.Bundle, service *learning.Service) (run.Ref, error) {
	t.Helper()
	_, err := b.Learning.Cases.Import(t.Context(), b.Workspace.ID, "", lessons(4))
	testkit.Must(t, err)
	spec := trainer.Spec{RunSpec: app.EvolveSpec(b.Config), Stages: 1, Iterations: 1, Episodes: 2}
	spec.Keeping.Tokens, spec.Keeping.K = 24, 10
	r, err := service.Trainings.Accept(t.Context(),
		trainer.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Spec: spec})
	testkit.Must(t, err)
	_, _, err = service.Trainings.Open(t.Context(), r.Ref)
	testkit.Must(t, err)
	for e := range spec.Episodes {
		testkit.Must(t, service.Trainings.PlayEpisode(t.Context(), r.Ref, 0, 0, e))
	}
	_, err = service.Trainings.Learn(t.Context(), r.Ref, 0, 0)
	testkit.Must(t, err)
	_, err = service.Trainings.CloseStage(t.Context(), r.Ref, 0)
	return r.Ref, err
}

// If a training does not improve on the held-out set, it changes nothing and reports so.
func TestATrainingThatIsNoBetterStaysOutOfForce(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Model.On(openaitest.Rule{Stage: "remember", ReplyFunc: everything})
	service, _ := shaken(b)
	ref, err := trainedUntilTheGate(t, b, service)
	testkit.Must(t, err)
	for range 2 { // twice is once
		testkit.Must(t, service.Trainings.PlayTrial(t.Context(), ref, 0))
	}
	if err := service.Trainings.PlayTrial(t.Context(), ref, 1); fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a trial that there is not: %v", err)
	}
	w, err := service.Trainings.Progress(t.Context(), ref)
	testkit.Must(t, err)
	if w.Tried != 1 || w.Trials != 1 || !(w.Choice.Mass > 0.99) {
		t.Errorf("%+v", w)
	}
	for range 2 {
		out, err := service.Trainings.Close(t.Context(), ref, "", "")
		testkit.Must(t, err)
		if out.Outcome != run.Completed || out.Version != 0 || out.Gate == nil || out.Gate.Promote ||
			out.Gate.Mean != 0 || out.Gate.Traces != 1 || out.Verdict != trainer.NotEnough {
			t.Errorf("%+v", out)
		}
	}
	if head, err := b.Learning.Banks.Head(t.Context(), b.Workspace.ID, bank.Default); err != nil || head.Head != 1 {
		t.Errorf("version %d, %v", head.Head, err)
	}
	if n := count(b, "select count(*) from cairn.llm_calls where step like 'trial/0000/%' and state = 'done'"); n != 8 {
		t.Errorf("%d calls of the trial, want 4 for each side", n)
	}
}

// lostSpans rejects all spans of a trial except the last, on each side that a round plays. Sides that
// choose the same skills are played once.
func lostSpans(b *apptest.Bundle) {
	for side := range 3 {
		for span := range 3 {
			b.Model.On(openaitest.Rule{Stage: "remember", Task: fmt.Sprintf("trial/0000/%d/span/%d", side, span),
				Refusal: "not available"})
		}
	}
}

// A comparison in which most outcomes are masked decides nothing.
func TestNothingIsPromotedOnMaskedOutcomes(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	lostSpans(b)
	b.Model.On(openaitest.Rule{Stage: "remember", ReplyFunc: everything})
	service, _ := shaken(b)
	ref, err := trainedUntilTheGate(t, b, service)
	testkit.Must(t, err)
	testkit.Must(t, service.Trainings.PlayTrial(t.Context(), ref, 0))
	out, err := service.Trainings.Close(t.Context(), ref, "", "")
	testkit.Must(t, err)
	if out.Version != 0 || out.Gate != nil || !strings.Contains(out.Note, "8 of 12 outcomes") {
		t.Errorf("%+v", out)
	}

	other := apptest.Open(t)
	lostSpans(other)
	designs(other, true)
	failing(other, 4)
	got, _ := evolveOnce(other)
	if got.Outcome != trainer.NotEnough || got.Outcomes != (domainlearning.EpisodeOutcomes{Of: 12, Masked: 8}) ||
		!strings.Contains(got.Note, "masked") {
		t.Errorf("%s %+v: %s", got.Outcome, got.Outcomes, got.Note)
	}
	if head, err := other.Learning.Banks.Head(t.Context(), other.Workspace.ID, bank.Default); err != nil ||
		head.Head != 1 {
		t.Errorf("version %d, %v", head.Head, err)
	}
}

// An iteration with many masked outcomes is logged, counted and shown. If most are masked, no
// stage gets a score.
func TestAnOutageInATrainingIsTold(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, c := range []struct {
		lost   string
		masked int // of the 12 outcomes of two episodes
		scores bool
	}{{"zebra crossing", 0, true}, {"I planted a", 4, true}, {"Hello! How|I planted a|Thanks, that", 8, false}} {
		b := apptest.OpenIdle(t)
		b.Model.On(openaitest.Rule{Stage: "remember", Match: c.lost, Refusal: "not available"})
		b.Model.On(openaitest.Rule{Stage: "remember", ReplyFunc: everything})
		service, _ := shaken(b)
		var told bytes.Buffer
		ports := service.Ports
		ports.Log = slog.New(slog.NewTextHandler(&told, nil))
		service = learning.New(ports)
		before := metrics.Read().Learnt["train"]
		ref, err := trainedUntilTheGate(t, b, service)
		if (err == nil) != c.scores || err != nil && fault.CodeOf(err) != fault.ModelRejected {
			t.Errorf("%s: %v", c.lost, err)
		}
		w, err := service.Trainings.Progress(t.Context(), ref)
		testkit.Must(t, err)
		if w.Outcomes != (domainlearning.EpisodeOutcomes{Of: 12, Masked: c.masked}) {
			t.Errorf("%s: shown %+v", c.lost, w.Outcomes)
		}
		now := metrics.Read().Learnt["train"]
		said := strings.Contains(told.String(), fmt.Sprintf("level=WARN msg=\"learning outcomes masked by "+
			"endpoint failures\" kind=train masked=%d outcomes=12", c.masked))
		if said != (c.masked > 0) {
			t.Errorf("%s: told %q", c.lost, told.String())
		}
		if now.Masked-before.Masked < c.masked || now.Scored-before.Scored < 12-c.masked || c.masked > 0 &&
			now.Alarms == before.Alarms {
			t.Errorf("%s: counted %+v, then %+v", c.lost, before, now)
		}
	}
}

// With one conversation there is no held-out set, so the training is rejected.
func TestATrainingNeedsAConversationToHoldOut(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	_, err := b.Learning.Cases.Import(t.Context(), b.Workspace.ID, "", lessons(1))
	testkit.Must(t, err)
	_, err = b.Learning.Trainings.Accept(t.Context(),
		trainer.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key})
	if f := fault.From(err); f == nil || f.Code != fault.InvalidArgument ||
		!strings.Contains(f.Hint, "two conversations") {
		t.Errorf("%v", err)
	}
}

// The request chooses by name how memories are fused and how sessions are cut. The policy stores
// the fusion.
func TestATrainingIsToldHowToCutAndFuse(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t, offlineRules)
	traces := lessons(4)
	for i := range traces {
		for j := range traces[i].Messages { // one sitting
			traces[i].Messages[j].Time = traces[i].Messages[0].Time
		}
	}
	_, err := b.Learning.Cases.Import(t.Context(), b.Workspace.ID, "", traces)
	testkit.Must(t, err)
	played, ref := firstEpisode(b, func(s *trainer.Spec) {
		s.Keeping.Mode, s.Fuse, s.Temperature = "turn", policy.SimWeighted, .5
	})
	if n := len(played.Episode.Decisions); n != 4 {
		t.Errorf("%d spans of 4 turns", n)
	}
	learnt, err := b.Learning.Trainings.Learn(t.Context(), ref, 0, 0)
	testkit.Must(t, err)
	var blob []byte
	b.Within(func(ctx context.Context, q store.Tx) (err error) {
		blob, err = q.Banks().Blob(ctx, "policy", learnt.Policy)
		return err
	})
	weights, err := policy.ParsePolicy(blob)
	testkit.Must(t, err)
	if s := weights.Shape(); s.Fuse != policy.SimWeighted || s.Temperature != .5 {
		t.Errorf("the policy fuses by %q at %v", s.Fuse, s.Temperature)
	}
	ask := func(change func(*trainer.Spec)) error {
		spec := trainer.Spec{RunSpec: app.EvolveSpec(b.Config), Stages: 1, Iterations: 1}
		change(&spec)
		r, err := b.Learning.Trainings.Accept(t.Context(),
			trainer.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Spec: spec})
		if err == nil && count(b, fmt.Sprintf(
			"select count(*) from cairn.runs where id = '%s' and spec->'keeping'->>'spans' = 'full-session'",
			r.Ref.Run)) != 1 {
			err = fmt.Errorf("run %s does not cut by full sessions", r.Ref.Run)
		}
		return err
	}
	testkit.Must(t, ask(func(s *trainer.Spec) { s.Recipe = memoryskill.PaperRecipe }))
	for name, bad := range map[string]func(*trainer.Spec){"spans": func(s *trainer.Spec) {
		s.Keeping.Mode = "sentence"
	}, "fuse": func(s *trainer.Spec) { s.Fuse = "median" }} {
		if f := fault.From(ask(bad)); f == nil || f.Code != fault.InvalidArgument || f.Hint == "" {
			t.Errorf("%s: %v", name, f)
		}
	}
}

// A live case that does not fail again within the window is no longer a hard case. If it fails
// later, it starts again. A good answer resolves it.
func TestALiveCaseExpires(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	withSkills(b)
	fail := func(op, question string) domainlearning.Case {
		c, err := b.Learning.Cases.RecordFailure(t.Context(), b.Workspace.ID,
			bank.FailedQuestion{Op: op, Source: bank.FromFeedback, Question: question})
		testkit.Must(t, err)
		return c
	}
	open := func() int {
		cases, err := b.Learning.Cases.List(t.Context(), b.Workspace.ID, "", 10)
		testkit.Must(t, err)
		return len(cases)
	}
	fail("1", "Where does Vera live?")
	fail("2", "Where does Vera live?")
	fail("3", "Who is Otto?")
	if n := open(); n != 2 {
		t.Fatalf("%d open cases", n)
	}
	exec(b, "update cairn.cases set failed_at = now() - make_interval(secs => $1) where question ~ 'Vera'",
		(bank.Window - 1e12).Seconds())
	if n := open(); n != 2 {
		t.Errorf("within the window: %d open cases", n)
	}
	exec(b, "update cairn.cases set failed_at = now() - make_interval(secs => $1) where question ~ 'Vera'",
		(bank.Window + 1e12).Seconds())
	if n := open(); n != 1 {
		t.Errorf("after the window: %d open cases", n)
	}
	if n := count(b, "select count(*) from cairn.cases where state = 'expired' and failures = 0"); n != 1 {
		t.Errorf("%d expired cases", n)
	}
	if c := fail("4", "Where does Vera live?"); c.State != "open" || c.Failures != 1 {
		t.Errorf("failing again: %+v", c)
	}
	_, err := b.Learning.Cases.RecordSuccess(t.Context(), b.Workspace.ID,
		bank.PositiveFeedback{Op: "5", Question: "Who is Otto?"})
	testkit.Must(t, err)
	exec(b, "update cairn.cases set failed_at = now() - interval '1 year'")
	started, err := b.Learning.Rounds.AcceptDue(t.Context(),
		bank.Due{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Spec: app.EvolveSpec(b.Config), Least: 1})
	if err != nil || len(started) != 0 || count(b, "select count(*) from cairn.cases where state = 'open'") != 0 {
		t.Errorf("%d rounds are started for what has expired, %v", len(started), err)
	}
}

// Builds cut sessions as the request or the setting of the workspace specifies.
func TestABuildCutsAsItIsTold(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	said := building()
	for mode, want := range map[string]int{"turn": 3, "turn-pair": 2, "full-session": 1, "paragraph": 3} {
		r := buildSession(b, said, func(r *build.Request) { r.Trace, r.Keeping.Mode = "by-"+mode, mode })
		spans, _, err := b.Learning.Builds.Open(t.Context(), r.Ref)
		if err != nil || spans != want {
			t.Errorf("%s: %d spans, want %d; %v", mode, spans, want, err)
		}
	}
	_, err := b.Learning.Builds.Accept(t.Context(),
		build.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Messages: said,
			Spec: app.EvolveSpec(b.Config), Keeping: bank.SpanOptions{
				Spanning: executor.Spanning{Mode: "sentence"}}})
	if fault.CodeOf(err) != fault.InvalidArgument {
		t.Errorf("a mode that there is not: %v", err)
	}
	exec(b, `update cairn.workspaces set settings = '{"memory":{"builder":"skills","spans":"turn"}}' where id = $1`,
		b.Workspace.ID)
	imported(b, "march", talk(t, "2026-03-03 09:00", "The greenhouse has nine lemon trees.", "Good to know.")...)
	_, err = b.Idle.Read(t.Context(), contract.IdleInput{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key,
		Conversation: view(b, "march").ID})
	testkit.Must(t, err)
	if n := count(b, "select count(*) from cairn.runs where kind = 'build' and spec->'keeping'->>'spans' = 'turn' "+
		"and business_key like 'idle/%'"); n != 1 {
		t.Errorf("%d idle builds cut by turn", n)
	}
	// Rounds and trainings use the setting of the workspace, unless the request overrides it.
	_, err = b.Learning.Cases.Import(t.Context(), b.Workspace.ID, "", lessons(4))
	testkit.Must(t, err)
	for want, mode := range map[string]string{"turn": "", "turn-pair": "turn-pair"} {
		round := trainer.EvolutionSpec{RunSpec: app.EvolveSpec(b.Config)}
		round.Keeping.Mode = mode
		evolving, err := b.Learning.Rounds.Accept(t.Context(),
			trainer.EvolutionRequest{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, ID: want,
				EvolutionSpec: round})
		testkit.Must(t, err)
		trained := trainer.Spec{RunSpec: app.EvolveSpec(b.Config)}
		trained.Keeping.Mode = mode
		trains, err := b.Learning.Trainings.Accept(t.Context(),
			trainer.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Spec: trained})
		testkit.Must(t, err)
		for _, r := range []run.Run{evolving, trains} {
			if got := column[string](b, "select spec->'keeping'->>'spans' from cairn.runs where id = $1",
				r.Ref.Run)[0]; got != want {
				t.Errorf("a %s cuts by %s, want %s", r.Kind, got, want)
			}
		}
	}
}
