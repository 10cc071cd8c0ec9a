package live_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	livelearning "cairn/internal/service/learning/live"
	"cairn/internal/service/learning/train"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func wants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

func due(l *pgtest.Learning, least int) bank.Due {
	return bank.Due{Workspace: l.DB.A.ID, WorkspaceKey: l.DB.A.Key, Spec: l.Spec(), Least: least}
}

// explores enables exploration.
func explores(l *pgtest.Learning) {
	l.DB.Choose(func(s *settings.Settings) {
		s.Memory.Builder = settings.BuilderSkills
		s.Memory.Learning.ExplorePerDay, s.Memory.Learning.CanaryPercent = 1000, 50
	})
}

// liveRun builds a session with one choice per span, and rates every second reply as good.
func liveRun(l *pgtest.Learning, spans int) {
	l.DB.T.Helper()
	rated(l, spans, func(i int, _ policy.Decision) bool { return i%2 == 1 })
}

// likeliest reports whether a decision chose the skill with the highest probability.
func likeliest(_ int, d policy.Decision) bool {
	top := slices.Index(d.Logits, slices.Max(d.Logits))
	return d.Chosen[0] == d.Candidates[top]
}

// rated builds a session with one choice per span, and rates the replies.
func rated(l *pgtest.Learning, spans int, good func(i int, d policy.Decision) bool) {
	t := l.DB.T
	t.Helper()
	l.Script.Say(prompt.Remember, `{"actions": []}`)
	var said []transcript.Message
	session := l.DB.Number("select count(*) from runs") // another session has other messages
	for i := range spans {
		fact := []string{"The greenhouse has lemon trees in row", "The cellar key hangs on hook"}[i%2]
		said = append(
			said,
			pgtest.Dialogue(fmt.Sprintf("%s %d%03d, as Vera and Otto have said for years.", fact, session, i))...)
	}
	k := bank.DefaultSpanOptions()
	k.Tokens, k.Overlap, k.K = 20, 0, 1
	r, err := l.Builds.Accept(t.Context(), build.Request{Workspace: l.DB.A.ID, Messages: said, Spec: l.Spec(),
		Keeping: k})
	testkit.Must(t, err)
	n, _, err := l.Builds.Open(t.Context(), r.Ref)
	testkit.Must(t, err)
	for i := range n {
		_, err := l.Builds.BuildSpan(t.Context(), r.Ref, i)
		testkit.Must(t, err)
	}
	_, err = l.Builds.Close(t.Context(), r.Ref, "", "")
	testkit.Must(t, err)
	testkit.Must(t, l.Within(func(ctx context.Context, tx store.Tx) error {
		made, err := tx.Decisions().Decisions(ctx, r.Ref.Run)
		testkit.Must(t, err)
		for i, d := range made {
			score := 0.0
			if good(i, d.Choice.Decision) {
				score = 1
			}
			testkit.Must(t, tx.Outcomes().PutOutcomes(ctx, []string{d.ID}, learning.Outcome{Op: "says/" + d.ID,
				Run: r.Ref.Run, Source: learning.FromPraise, Score: score}))
		}
		return nil
	}))
}

func TestAnUpdateIsDueWhenEnoughIsKnown(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	explores(l)
	liveRun(l, 4)
	if none, err := l.Updates.AcceptDue(t.Context(), due(l, livelearning.MinDecisions)); err != nil || len(none) != 0 {
		t.Errorf("too few: %v, %v", none, err)
	}
	started, err := l.Updates.AcceptDue(t.Context(), due(l, 2))
	if err != nil || len(started) != 1 || started[0].Kind != run.Adapt {
		t.Fatalf("%v, %v", started, err)
	}
	again, err := l.Updates.AcceptDue(t.Context(), due(l, 2))
	if err != nil || len(again) != 1 || again[0].Ref != started[0].Ref {
		t.Errorf("%v, then %v, %v", started, again, err)
	}
	l.DB.Choose(func(s *settings.Settings) { s.Memory.Learning.Frozen = true })
	if none, err := l.Updates.AcceptDue(t.Context(), due(l, 2)); err != nil || len(none) != 0 {
		t.Errorf("frozen: %v, %v", none, err)
	}
}

// small reports whether an update has changed the policy, and not beyond its limit.
func small(r *policy.Report) bool {
	return r != nil && r.MeanKL > 0 && r.MeanKL <= policy.DefaultMaxKL && r.Kept > 0
}

func TestEachStepOfAnUpdateIsDoneOnce(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx := t.Context()
	explores(l)
	pgtest.Decisive(t, l.Service, l.DB.A.ID, l.DB.Exec)
	l.Import(4) // one conversation is held out
	liveRun(l, 40)
	started, err := l.Updates.AcceptDue(ctx, due(l, 2))
	testkit.Must(t, err)
	ref := started[0].Ref
	if _, err := l.Updates.Adapt(ctx, ref); err == nil {
		t.Error("an update that was not opened has learnt")
	}
	for range 2 {
		n, over, err := l.Updates.Open(ctx, ref)
		if err != nil || n < 2 || over != nil {
			t.Fatalf("%d decisions, %+v, %v", n, over, err)
		}
		trials, err := l.Updates.Adapt(ctx, ref)
		if err != nil || trials != 1 {
			t.Fatalf("%d trials, %v", trials, err)
		}
		testkit.Must(t, l.Updates.PlayTrial(ctx, ref, 0))
	}
	wants(t, "a trial that there is not", l.Updates.PlayTrial(ctx, ref, 1), fault.InvalidArgument)
	var got [2]livelearning.AdaptationResult
	for i := range got {
		got[i], err = l.Updates.Close(ctx, ref, "", "")
		testkit.Must(t, err)
	}
	if got[0].Outcome != learning.OnCanary || got[0].Update != 1 || got[0].Policy == "" || !small(got[0].Report) ||
		got[0].Shadow.OffPolicy.Effective < 30 || got[1].Outcome != got[0].Outcome {
		t.Errorf("%+v, then %+v", got[0], got[1])
	}
	listed, _, err := l.Updates.List(ctx, l.DB.A.ID, bank.Default, "", 10)
	if err != nil || len(listed) != 1 || listed[0].State != learning.OnCanary || listed[0].Canary == nil {
		t.Errorf("%+v, %v", listed, err)
	}
	if _, over, err := l.Updates.Open(ctx, ref); err != nil || over == nil {
		t.Errorf("opened when it has ended: %+v, %v", over, err)
	}
	_, err = l.Banks.Rollback(ctx, l.DB.A.ID, bank.Default, 1) // no earlier version: the canary stays
	testkit.Must(t, err)
	if none, err := l.Updates.AcceptDue(ctx, due(l, 1)); err != nil || len(none) != 0 {
		t.Errorf("while one is on canary: %v, %v", none, err)
	}
}

// An update whose held-out conversations could not be scored does not go on to a canary.
func TestAnUpdateWhoseTrialsGaveNoScoreIsNotEnoughEvidence(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx := t.Context()
	explores(l)
	pgtest.Decisive(t, l.Service, l.DB.A.ID, l.DB.Exec)
	l.Import(4) // one conversation is held out
	liveRun(l, 40)
	started, err := l.Updates.AcceptDue(ctx, due(l, 2))
	testkit.Must(t, err)
	ref := started[0].Ref
	_, _, err = l.Updates.Open(ctx, ref)
	testkit.Must(t, err)
	for _, stage := range []prompt.Stage{prompt.Remember, prompt.Recite, prompt.Grade} {
		l.Script.On(stage, func(prompt.Material) (string, error) {
			return "", &llm.Error{Class: llm.Auth, Status: 401, Message: "the endpoint says no", Sent: true}
		})
	}
	trials, err := l.Updates.Adapt(ctx, ref)
	if err != nil || trials != 1 {
		t.Fatalf("%d trials, %v", trials, err)
	}
	testkit.Must(t, l.Updates.PlayTrial(ctx, ref, 0))
	got, err := l.Updates.Close(ctx, ref, "", "")
	if err != nil || got.Outcome != train.NotEnough || !strings.Contains(got.Note, "masked") {
		t.Errorf("%+v, %v", got, err)
	}
}

// closed runs the update that is due to its end.
func closed(l *pgtest.Learning) livelearning.AdaptationResult {
	t := l.DB.T
	t.Helper()
	started, err := l.Updates.AcceptDue(t.Context(), due(l, 2))
	testkit.Must(t, err)
	if len(started) != 1 {
		t.Fatalf("%d updates are due", len(started))
	}
	_, _, err = l.Updates.Open(t.Context(), started[0].Ref)
	testkit.Must(t, err)
	_, err = l.Updates.Adapt(t.Context(), started[0].Ref)
	testkit.Must(t, err)
	got, err := l.Updates.Close(t.Context(), started[0].Ref, "", "")
	testkit.Must(t, err)
	return got
}

func TestAnUpdateFromFewDecisionsIsNotEnoughEvidence(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	explores(l)
	pgtest.Decisive(t, l.Service, l.DB.A.ID, l.DB.Exec)
	liveRun(l, 29)
	got := closed(l)
	if p := got.Shadow.OffPolicy; got.Outcome != train.NotEnough || p == nil || p.Effective >= 30 ||
		!strings.Contains(got.Note, "effective sample size") {
		t.Errorf("%+v %+v", got, p)
	}
	listed, _, err := l.Updates.List(t.Context(), l.DB.A.ID, bank.Default, "", 10)
	if err != nil || len(listed) != 1 || listed[0].State != livelearning.Dropped || listed[0].EndedAt == nil {
		t.Errorf("%+v, %v", listed, err)
	}
}

// A small update of a policy that is nearly indifferent changes most of its greedy choices. It ends as a
// shadow. The next updates continue from it, until the choices are stable.
func TestAnUpdateThatChangesTooMuchStaysAShadow(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	explores(l)
	pgtest.Indifferent(t, l.Service, l.DB.A.ID, l.DB.Exec)
	rated(l, 80, func(i int, d policy.Decision) bool { return !likeliest(i, d) })
	got := closed(l)
	if got.Outcome != livelearning.ShadowOnly || got.Shadow.Alike >= .6 || !strings.Contains(got.Note, "60 %") ||
		!small(got.Report) {
		t.Fatalf("%+v %+v", got, got.Shadow.OffPolicy)
	}
	listed, _, err := l.Updates.List(t.Context(), l.DB.A.ID, bank.Default, "", 10)
	if err != nil || len(listed) != 1 || listed[0].State != livelearning.InShadow || listed[0].EndedAt == nil ||
		listed[0].Note != got.Note {
		t.Errorf("%+v, %v", listed, err)
	}
	_, err = l.Updates.Promote(t.Context(), l.DB.A.ID, bank.Default, 1)
	wants(t, "an update that is a shadow only", err, fault.InvalidArgument)
	for n := 2; got.Outcome == livelearning.ShadowOnly && n < 8; n++ {
		rated(l, 40, likeliest)
		if got = closed(l); got.Update != n {
			t.Fatalf("%+v", got)
		}
	}
	if got.Outcome != learning.OnCanary || got.Shadow.Alike < .6 {
		t.Errorf("after %d updates: %+v", got.Update, got)
	}
	if n := l.DB.Number("select count(*) from policies"); n != 5 { // the first, its replacement, and the canary
		t.Errorf("%d sets of weights", n)
	}
}

func TestAnUpdateThatIsGivenUpIsDropped(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	explores(l)
	liveRun(l, 8)
	started, err := l.Updates.AcceptDue(t.Context(), due(l, 2))
	testkit.Must(t, err)
	_, _, err = l.Updates.Open(t.Context(), started[0].Ref)
	testkit.Must(t, err)
	_, err = l.Updates.Adapt(t.Context(), started[0].Ref)
	testkit.Must(t, err)
	got, err := l.Updates.Close(t.Context(), started[0].Ref, string(fault.Cancelled), "stopped")
	if err != nil || got.Note != "stopped" || got.Update != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	listed, _, err := l.Updates.List(t.Context(), l.DB.A.ID, bank.Default, "", 10)
	if err != nil || len(listed) != 1 || listed[0].State != livelearning.Dropped {
		t.Errorf("%+v, %v", listed, err)
	}
}

// A frozen bank logs its choices, which are greedy, and learns nothing from them until it is unfrozen.
func TestAFrozenBankIsNotUpdated(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx := t.Context()
	explores(l)
	liveRun(l, 4)
	started, err := l.Updates.AcceptDue(ctx, due(l, 2))
	testkit.Must(t, err)
	_, err = l.Banks.Freeze(ctx, l.DB.A.ID, bank.Default, true)
	testkit.Must(t, err)
	const drawn = "select count(*) from decisions where sampled"
	before, all := l.DB.Number(drawn), l.DB.Number("select count(*) from decisions")
	liveRun(l, 4)
	if n := l.DB.Number(drawn); n != before || l.DB.Number("select count(*) from decisions") <= all {
		t.Errorf("%d drawn choices, then %d; %d choices before", before, n, all)
	}
	if none, err := l.Updates.AcceptDue(ctx, due(l, 1)); err != nil || len(none) != 0 {
		t.Errorf("an update is due: %v, %v", none, err)
	}
	if n, _, err := l.Updates.Open(ctx, started[0].Ref); err != nil || n != 0 {
		t.Errorf("the update that was due learns from %d decisions, %v", n, err)
	}
	got, err := l.Updates.Close(ctx, started[0].Ref, "", "")
	if err != nil || got.Outcome != livelearning.Frozen || !strings.Contains(got.Note, "frozen") {
		t.Errorf("%+v, %v", got, err)
	}
	_, err = l.Banks.Freeze(ctx, l.DB.A.ID, bank.Default, false)
	testkit.Must(t, err)
	if again, err := l.Updates.AcceptDue(ctx, due(l, 1)); err != nil || len(again) != 1 {
		t.Errorf("unfrozen: %v, %v", again, err)
	}
}
