package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn/internal/app"
	"cairn/internal/domain/erasure"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/feedback"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	livelearning "cairn/internal/service/learning/live"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// setLearning changes the learning settings of the workspace.
func setLearning(b *apptest.Bundle, settings string) {
	b.T.Helper()
	b.Within(func(ctx context.Context, q store.Tx) error {
		_, err := q.Workspaces().PatchSettings(ctx,
			json.RawMessage(`{"memory":{"builder":"skills","learning":`+settings+`}}`))
		return err
	})
}

// decisive gives the active version of the bank a policy with preferences.
func decisive(b *apptest.Bundle) {
	b.T.Helper()
	pgtest.Decisive(b.T, b.Learning, b.Workspace.ID, func(sql string, args ...any) { exec(b, sql, args...) })
}

// live remembers a session whose spans alternate between trees and keys. Each kind needs its own
// skill.
func live(b *apptest.Bundle, trace string, spans int) (made []learning.Decision) {
	b.T.Helper()
	var said []transcript.Message
	for i := range spans {
		fact := []string{"The greenhouse has lemon trees, walnut trees and cherry trees in row",
			"The cellar key hangs by the door with the other keys on hook"}[i%2]
		said = append(said, transcript.Message{Role: transcript.User, Name: "Vera",
			Content: fmt.Sprintf("%s %s%d.", fact, trace, i), Time: time.Date(2026, 1, 1+i, 9, 0, 0, 0, time.UTC)})
	}
	r := buildSession(b, said, func(r *build.Request) { r.Trace, r.Keeping.K = trace, 1 })
	if got := builtBy(b, r.Ref); got.Spans != spans || got.Failed > 0 {
		b.T.Fatalf("%+v", got)
	}
	b.Within(func(ctx context.Context, q store.Tx) (err error) {
		made, err = q.Decisions().Decisions(ctx, r.Ref.Run)
		return err
	})
	return made
}

// right returns the skill that a span of live needs.
func right(d learning.Decision) string { return []string{"insert", "noop"}[d.Span%2] }

func chose(d learning.Decision, skill string) bool {
	return strings.HasPrefix(d.Choice.Chosen[0], skill+"@")
}

// outcomes records for each decision whether it was right.
func outcomes(b *apptest.Bundle, made []learning.Decision) {
	b.T.Helper()
	b.Within(func(ctx context.Context, q store.Tx) error {
		for _, d := range made {
			o := learning.Outcome{Op: "says/" + d.ID, Run: d.Run, Source: learning.FromPraise}
			if chose(d, right(d)) {
				o.Score = 1
			}
			if err := q.Outcomes().PutOutcomes(ctx, []string{d.ID}, o); err != nil {
				return err
			}
		}
		return nil
	})
}

// adapts starts the updates that are due.
func adapts(b *apptest.Bundle) []run.Run {
	b.T.Helper()
	started, err := b.Learning.Updates.AcceptDue(b.T.Context(),
		bank.Due{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Spec: app.EvolveSpec(b.Config),
			Least: livelearning.MinDecisions})
	testkit.Must(b.T, err)
	return started
}

func adaptedTo(b *apptest.Bundle, ref run.Ref) (out livelearning.AdaptationResult) {
	b.T.Helper()
	testkit.Eventually(b.T, "the update ends", func() (over bool) {
		b.Within(func(ctx context.Context, q store.Tx) error {
			r, err := q.Runs().Run(ctx, ref.Run)
			if err == nil && r.Status == run.Ended {
				over, err = true, json.Unmarshal(r.Result, &out)
			}
			return err
		})
		return over
	})
	return out
}

// adaptOnce waits for the one update that is due.
func adaptOnce(b *apptest.Bundle) (livelearning.AdaptationResult, run.Run) {
	b.T.Helper()
	started := adapts(b)
	if len(started) != 1 {
		b.T.Fatalf("%d updates were started", len(started))
	}
	return adaptedTo(b, started[0].Ref), started[0]
}

// probable returns the mean probability with which a version of the policy chooses the right
// skill in live decisions.
func probable(b *apptest.Bundle, version int, made []learning.Decision) float64 {
	b.T.Helper()
	head, err := b.Learning.Banks.At(b.T.Context(), b.Workspace.ID, bank.Default, version)
	testkit.Must(b.T, err)
	var candidates []policy.Candidate
	for _, v := range head.Bank.Versions() {
		vectors, err := b.Embedder.Embed(b.T.Context(), []string{v.Skill.Description})
		testkit.Must(b.T, err)
		candidates = append(candidates, policy.Candidate{ID: v.ID, Vector: head.Policy.Vector(vectors[0])})
	}
	slices.SortFunc(candidates, func(a, b policy.Candidate) int { return strings.Compare(a.ID, b.ID) })
	sum := 0.0
	for _, d := range made {
		i := slices.IndexFunc(
			candidates,
			func(c policy.Candidate) bool { return strings.HasPrefix(c.ID, right(d)+"@") },
		)
		d.Choice.Chosen = []string{candidates[i].ID}
		log, err := head.Policy.(policy.Propensity).LogPropensity(d.Choice.Decision, candidates)
		testkit.Must(b.T, err)
		sum += math.Exp(log)
	}
	return sum / float64(len(made))
}

// Feedback on answers teaches the policy which skill a span needs. Each decision is used in one
// update at most, and each update creates a version.
func TestAPolicyLearnsFromLiveDecisions(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "remember", Reply: `{"actions": []}`})
	setLearning(b, `{"explore_per_day":1000}`)
	decisive(b)
	var first []learning.Decision
	var last run.Run
	const updates = 2
	for n := range updates {
		made := live(b, fmt.Sprintf("t%d", n), 40)
		if n == 0 {
			first = made
		}
		if len(adapts(b)) > 0 {
			t.Fatal("an update was started without an outcome")
		}
		outcomes(b, made)
		got, r := adaptOnce(b)
		if got.Outcome != learning.OnCanary || got.Decisions != 40 || got.Update != n+1 || got.Base != n+1 ||
			got.Report == nil {
			t.Fatalf("update %d: %+v", n, got)
		}
		last = r
		if p := got.Shadow.OffPolicy; p == nil || p.Effective < 30 || p.Effective > 40 ||
			got.Report.MeanKL <= 0 || got.Report.MeanKL > policy.DefaultMaxKL || got.Shadow.Alike < .6 {
			t.Fatalf("update %d: %+v, %+v, %+v", n, p, got.Report, got.Shadow)
		}
		if now := judgedLive(b, got, 1, 0); now.State != livelearning.InForce {
			t.Fatalf("an update that is better: %+v", now)
		}
	}
	before, after := probable(b, 1, first), probable(b, 0, first)
	t.Logf("the right skill had probability %.3f, has %.3f", before, after)
	if after < 1.05*before {
		t.Errorf("the right skill had probability %.3f and has %.3f after %d updates", before, after, updates)
	}
	if n := count(b, "select count(*) from cairn.decisions where update_run is not null"); n != updates*40 {
		t.Errorf("%d decisions were learnt from", n)
	}
	head, err := b.Learning.Banks.Head(t.Context(), b.Workspace.ID, bank.Default)
	testkit.Must(t, err)
	if head.Version.Action != bank.ActionAdapt || head.Version.Run != last.Ref.Run || head.Bank.Len() != 10 {
		t.Errorf("in force: %+v", head.Version)
	}
	if again := adapts(b); len(again) != 0 {
		t.Errorf("decisions were taken twice: %+v", again)
	}
	b.Record(last.WorkflowID, "Adapt/canary")
	back, err := b.Learning.Banks.Rollback(t.Context(), b.Workspace.ID, bank.Default, 1)
	testkit.Must(t, err)
	if back.Version.Policy == head.Version.Policy {
		t.Error("the rollback left the policy that was learnt")
	}
}

// outcomesOf returns all outcomes with the spans of their decisions.
func outcomesOf(b *apptest.Bundle) []string {
	b.T.Helper()
	return column[string](b, "select split_part(decision_id, '/', 2) || ' ' || source || ' ' || score from "+
		"cairn.decision_outcomes order by op_id, decision_id")
}

// An answer cites some of the memories in its prompt. The decisions behind the cited memories
// get the outcome of the answer, once for each operation.
func TestTheDecisionsThatAnAnswerCitesHaveItsOutcome(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := knows(t)
	b.Say("c", 1, "How many lemon trees are there?")
	exec(b, "insert into cairn.memory_views (workspace_id, run_id, memory_id, op_id) select workspace_id, "+
		"(select run_id from cairn.turns where run_id is not null order by accepted_at desc limit 1), id, 'shown' "+
		"from cairn.memories where type = 'personal' on conflict do nothing")
	if shown := behind(b); shown != 3 {
		t.Fatalf("%d decisions are behind what the turn was shown, want those of both memories", shown)
	}
	for range 2 {
		for op, f := range map[string]feedback.Input{"1": {Rating: feedback.Good}, "2": {Rating: feedback.Bad},
			"3": {Correction: "nine"}} {
			f.Conversation, f.MessageID = "c", "m1"
			_, err := b.Feedback.Note(votes(t, op), b.Workspace.ID, op, f)
			testkit.Must(t, err)
		}
		if got, want := outcomesOf(b), []string{"0 praise 1", "1 praise 1", "0 feedback 0", "1 feedback 0",
			"0 correction 0", "1 correction 0"}; !slices.Equal(got, want) {
			t.Errorf("outcomes %q, want %q", got, want)
		}
	}
	// A reply that an endpoint failure cut off is no evidence.
	exec(b, "update cairn.runs set outcome = 'failed' where kind = 'turn'")
	_, err := b.Feedback.Note(votes(t, "4"), b.Workspace.ID, "4",
		feedback.Input{Rating: feedback.Bad, Conversation: "c", MessageID: "m1"})
	testkit.Must(t, err)
	if n := len(outcomesOf(b)); n != 6 {
		t.Errorf("%d outcomes after a failed turn was rated", n)
	}
	// Outcomes and votes are erased with the conversation that was rated, and with the case of its question.
	_, err = b.Feedback.Note(votes(t, "5"), b.Workspace.ID, "5",
		feedback.Input{Rating: feedback.Bad, Question: "How many lemon trees are there?"})
	testkit.Must(t, err)
	if n := count(b, "select count(*) from cairn.votes"); n != 5 {
		t.Errorf("%d votes of five voters", n)
	}
	erased(b, erasure.Target{Workspace: b.Workspace.ID, Conversation: view(b, "c").ID, Derived: erasure.Keep})
	if n := len(outcomesOf(b)) + count(b, "select count(*) from cairn.votes"); n != 0 {
		t.Errorf("%d outcomes and votes are left of an erased conversation", n)
	}
}

// drawAlike gives the decisions of a build the choices that were drawn before, if there are any.
// Choices are drawn by the ID of their run, which is random.
func drawAlike(b *apptest.Bundle, made []learning.Decision, before *[]string) []learning.Decision {
	b.T.Helper()
	if *before == nil {
		*before = column[string](b, "select choice::text from cairn.decisions order by span")
		return made
	}
	for span, choice := range *before {
		exec(b, "update cairn.decisions set choice = $1::jsonb || jsonb_build_object('id', id) where span = $2", choice,
			span)
	}
	b.Within(func(ctx context.Context, q store.Tx) (err error) {
		made, err = q.Decisions().Decisions(ctx, made[0].Run)
		return err
	})
	return made
}

// An update has the same result to the last bit if its worker is killed after every step. An
// outcome that arrives meanwhile changes nothing.
func TestAKilledWorkerChangesNothingInAnUpdate(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	var drawn []string
	update := func(b *apptest.Bundle, between func()) livelearning.AdaptationResult {
		t.Helper()
		_, err := b.Learning.Cases.Import(t.Context(), b.Workspace.ID, "", lessons(4))
		testkit.Must(t, err)
		setLearning(b, `{"explore_per_day":1000}`)
		decisive(b)
		outcomes(b, drawAlike(b, live(b, "t", 40), &drawn))
		started := adapts(b)
		if len(started) != 1 {
			t.Fatalf("started %+v", started)
		}
		for _, again := range adapts(b) { // none when what it learns from is taken
			if again.Ref != started[0].Ref {
				t.Fatalf("started %+v, then %+v", started, again)
			}
		}
		between()
		return adaptedTo(b, started[0].Ref)
	}
	whole := apptest.Open(t, offlineRules)
	want := update(whole, func() {})
	if want.Outcome != learning.OnCanary || want.Decisions != 40 || want.Shadow.Comparison == nil ||
		want.Shadow.Comparison.Traces != 1 {
		t.Fatalf("%+v", want)
	}
	b := apptest.OpenIdle(t, offlineRules)
	worker := b.StartProcess()
	got := update(b, func() {
		for _, steps := range []int{1, 2} {
			testkit.Eventually(t, fmt.Sprintf("%d steps are done", steps), func() bool {
				return count(b, "select count(*) from cairn.training_steps") >= steps ||
					count(b, "select count(*) from cairn.runs where kind = 'adapt' and status = 'ended'") > 0
			})
			worker.Kill()
			exec(b, "insert into cairn.decision_outcomes select workspace_id, id, 'late/' || id, run_id, "+
				"'feedback', 0 from cairn.decisions on conflict do nothing")
			worker = b.StartProcess()
		}
	})
	if got.Policy != want.Policy || got.Outcome != want.Outcome || got.Decisions != want.Decisions ||
		got.Update != want.Update || got.Shadow.Alike != want.Shadow.Alike {
		t.Errorf("killed twice: %+v\nleft alone: %+v", got, want)
	}
	if n := count(b, "select count(*) from cairn.policy_updates"); n != 1 {
		t.Errorf("%d updates", n)
	}
}

// An update ignores decisions that are too old, were not drawn, have no outcome, were masked, or
// belong to another workspace.
func TestAnUpdateTakesNothingThatItMayNot(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "remember", Reply: `{"actions": []}`})
	setLearning(b, `{"explore_per_day":45}`)
	made := live(b, "t", 50)
	sampled := 0
	for _, d := range made {
		if !d.Choice.Greedy {
			sampled++
		}
	}
	if sampled != 45 {
		t.Errorf("%d decisions were sampled, want the 45 of a day", sampled)
	}
	outcomes(b, made[2:])
	exec(b, `update cairn.decisions set outcome = '{"outcome":"llm_error"}' where span = 3`)
	exec(b, "update cairn.decisions set bank_version = -9 where span = 4")
	exec(b, "update cairn.decisions set outcome = null where span = 5")
	if took := takes(b); took != 45-2-3 {
		t.Errorf("%d decisions may be learnt from, want 45 less 2 without an outcome, a lost one, an old one and "+
			"one under way", took)
	}
	// Decisions are used up to two versions later, and no longer after three.
	for n, want := range map[int]int{2: 40, 3: 0} {
		exec(b, "update cairn.decisions set bank_version = 1 - $1 where span not in (4)", n)
		if took := takes(b); took != want {
			t.Errorf("%d versions later %d decisions may be learnt from, want %d", n, took, want)
		}
	}
	exec(b, "update cairn.decisions set bank_version = 1 where span <> 4")

	other, err := b.Store.Workspace(t.Context(), "other", true)
	testkit.Must(t, err)
	head, err := b.Learning.Banks.Head(t.Context(), other.ID, bank.Default)
	testkit.Must(t, err)
	own, err := b.Learning.Banks.Head(t.Context(), b.Workspace.ID, bank.Default)
	testkit.Must(t, err)
	testkit.Must(t, b.Store.InWorkspace(t.Context(), other.ID, func(_ context.Context, q store.Tx) error {
		for _, bank := range []int64{head.ID, own.ID} {
			if ids, err := q.Outcomes().Learnable(t.Context(), bank, 0, 100); err != nil || len(ids) != 0 {
				t.Errorf("another workspace may learn from %d decisions, %v", len(ids), err)
			}
		}
		if seen, err := q.Outcomes().Outcomes(t.Context(), []string{made[10].ID}); err != nil || len(seen) != 0 {
			t.Errorf("another workspace sees %+v, %v", seen, err)
		}
		if err := q.Outcomes().PutOutcomes(t.Context(), []string{made[0].ID},
			learning.Outcome{Op: "theirs", Run: made[0].Run, Source: learning.FromPraise, Score: 1}); err != nil {
			t.Error(err)
		}
		return q.Outcomes().Claim(t.Context(), made[0].Run, []string{made[10].ID})
	}))
	if n := count(b, "select count(*) from cairn.decisions where update_run is not null") +
		count(b, "select count(*) from cairn.decision_outcomes where op_id = 'theirs'"); n != 0 {
		t.Errorf("another workspace took or rated %d decisions", n)
	}
	if _, err := b.Learning.Updates.AcceptDue(t.Context(),
		bank.Due{Workspace: other.ID, WorkspaceKey: other.Key, Spec: app.EvolveSpec(b.Config)}); err != nil ||
		count(b, "select count(*) from cairn.runs where kind = 'adapt'") != 0 {
		t.Errorf("an update in a workspace without decisions: %v", err)
	}
	if got, _ := adaptOnce(b); got.Decisions != 40 {
		t.Errorf("%+v", got)
	}
}

// takes counts the decisions that an update would use.
func takes(b *apptest.Bundle) (n int) {
	b.T.Helper()
	head, err := b.Learning.Banks.Head(b.T.Context(), b.Workspace.ID, bank.Default)
	testkit.Must(b.T, err)
	b.Within(func(ctx context.Context, q store.Tx) error {
		ids, err := q.Outcomes().Learnable(ctx, head.ID, head.Head-2, 1000)
		n = len(ids)
		return err
	})
	return n
}

// If learning is frozen, the choices of the workspace are greedy and use the version that it
// names. Neither due nor running updates learn.
func TestAFrozenWorkspaceLearnsNothing(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Model.On(openaitest.Rule{Stage: "remember", Reply: `{"actions": []}`})
	_, err := b.Learning.Banks.Import(t.Context(), b.Workspace.ID, bank.Default,
		skillFile("capture_dates", "Adds dates."))
	testkit.Must(t, err)
	b.Start()
	setLearning(b, `{"explore_per_day":1000}`)
	decisive(b)
	outcomes(b, live(b, "before", 40))
	b.Stop()
	started := adapts(b)
	setLearning(b, `{"frozen":true,"version":1}`)
	if again := adapts(b); len(again) != 0 {
		t.Errorf("%d updates are due", len(again))
	}
	b.Start()
	if got := adaptedTo(b, started[0].Ref); got.Outcome != livelearning.Frozen || got.Update != 0 {
		t.Errorf("an update that was under way: %+v", got)
	}
	for _, d := range live(b, "frozen", 4) {
		if d.Version != 1 || !d.Choice.Greedy || len(d.Choice.Candidates) != 10 {
			t.Errorf("a choice by version %d, greedy %v, among %d skills", d.Version, d.Choice.Greedy,
				len(d.Choice.Candidates))
		}
	}
	if n := count(b, "select count(*) from cairn.decisions where update_run is not null") +
		count(b, "select count(*) from cairn.bank_versions where action = 'adapt'"); n != 0 {
		t.Errorf("%d decisions were learnt from, or versions made", n)
	}
	setLearning(b, `{"version":9}`)
	if _, err := b.Learning.Builds.Accept(t.Context(),
		build.Request{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Messages: building(),
			Spec: app.EvolveSpec(b.Config), Keeping: keeping()}); fault.CodeOf(err) != fault.NotFound ||
		!strings.Contains(err.Error(), "memory.learning.version") {
		t.Errorf("a version that is not there: %v", err)
	}
	setLearning(b, `{"frozen":false,"version":0}`)
	got, _ := adaptOnce(b)
	if got.Outcome != learning.OnCanary || got.Decisions != 40 {
		t.Errorf("thawed: %+v", got)
	}
	// While learning is frozen, no build uses the canary policy and no answer judges it.
	setLearning(b, `{"frozen":true,"canary_percent":50,"explore_per_day":0}`)
	for n := range 4 {
		for _, d := range live(b, fmt.Sprint("icy", n), 1) {
			if d.Canary != 0 || !d.Choice.Greedy {
				t.Errorf("a live choice by update %d", d.Canary)
			}
		}
	}
	exec(b, "update cairn.policy_updates set canary_at = now() - interval '31 days'")
	if adapts(b); state(b).State != learning.OnCanary {
		t.Errorf("%+v", state(b))
	}
}

// state returns the latest update.
func state(b *apptest.Bundle) learning.Update {
	b.T.Helper()
	all, _, err := b.Learning.Updates.List(b.T.Context(), b.Workspace.ID, bank.Default, "", 1)
	testkit.Must(b.T, err)
	if len(all) != 1 {
		b.T.Fatalf("%d updates", len(all))
	}
	return all[0]
}

// arms remembers sessions until both sides of a canary have 20 decisions.
func arms(b *apptest.Bundle, of livelearning.AdaptationResult) (candidate, incumbent []learning.Decision) {
	b.T.Helper()
	setLearning(b, `{"explore_per_day":0,"canary_percent":50}`)
	for n := 0; len(candidate) == 0 || len(incumbent) == 0; n++ {
		made := live(b, fmt.Sprintf("canary%d-%d", of.Update, n), 20)
		for _, d := range made {
			if d.Canary != made[0].Canary || d.Canary != 0 && (d.Canary != of.Update || d.Choice.Policy != of.Policy) ||
				d.Canary == 0 && d.Choice.Policy == of.Policy || d.Version != of.Base {
				b.T.Fatalf("a choice by update %d, policy %.12s, in a build that began with update %d", d.Canary,
					d.Choice.Policy, made[0].Canary)
			}
		}
		if made[0].Canary == of.Update {
			candidate = append(candidate, made...)
		} else {
			incumbent = append(incumbent, made...)
		}
	}
	return candidate, incumbent
}

// rated records the same score for all decisions of a side, by five voters in turn.
func rated(b *apptest.Bundle, made []learning.Decision, score float64) {
	b.T.Helper()
	b.Within(func(ctx context.Context, q store.Tx) error {
		for i, d := range made {
			if err := q.Outcomes().PutOutcomes(ctx, []string{d.ID},
				learning.Outcome{Op: "live/" + d.ID, Run: d.Run, Source: bank.FromFeedback, Score: score,
					Voter: fmt.Sprint("key/", i%5)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// judgedLive judges an update on canary by the feedback on both sides.
func judgedLive(b *apptest.Bundle, of livelearning.AdaptationResult, candidate, incumbent float64) learning.Update {
	b.T.Helper()
	theirs, ours := arms(b, of)
	rated(b, theirs[:19], candidate)
	rated(b, ours, incumbent)
	if adapts(b); state(b).State != learning.OnCanary {
		b.T.Errorf("judged by 19 answers: %+v", state(b))
	}
	rated(b, theirs, candidate)
	adapts(b)
	setLearning(b, `{"explore_per_day":1000}`)
	return state(b)
}

// onCanary updates a policy from 40 decisions and puts it on canary.
func onCanary(t *testing.T) (*apptest.Bundle, livelearning.AdaptationResult) {
	t.Helper()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "remember", Reply: `{"actions": []}`})
	setLearning(b, `{"explore_per_day":1000}`)
	decisive(b)
	outcomes(b, live(b, "t", 40))
	got, _ := adaptOnce(b)
	if got.Outcome != learning.OnCanary {
		t.Fatalf("%+v", got)
	}
	return b, got
}

// A canary that scores lower in live builds is dropped with its weights. The bank does not
// change.
func TestAPolicyThatIsWorseLiveIsDropped(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b, got := onCanary(t)
	weights := count(b, "select count(*) from cairn.policies")
	now := judgedLive(b, got, 0, 1)
	if now.State != livelearning.Dropped || now.Canary.Comparison == nil || now.Canary.Comparison.Mean != -1 ||
		now.EndedAt == nil {
		t.Errorf("%+v", now)
	}
	head, err := b.Learning.Banks.Head(t.Context(), b.Workspace.ID, bank.Default)
	testkit.Must(t, err)
	if left := count(b, "select count(*) from cairn.policies"); head.Head != 1 || left != weights-2 {
		t.Errorf("version %d, %d sets of weights of %d", head.Head, left, weights)
	}
	if d := live(b, "after", 1)[0]; d.Canary != 0 || d.Choice.Policy != head.Version.Policy {
		t.Errorf("a live choice by a dropped policy: %+v", d.Choice.Policy)
	}
}

// A canary is dropped if it gets too little feedback in 30 days, or if its bank has a newer
// version. Concurrent judges judge it once.
func TestAPolicyThatNobodyCanJudgeIsDropped(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b, _ := onCanary(t)
	adapts(b)
	exec(b, "update cairn.policy_updates set canary_at = now() - interval '29 days'")
	if adapts(b); state(b).State != learning.OnCanary {
		t.Errorf("after 29 days: %+v", state(b))
	}
	if seen, err := b.Store.Backlog(t.Context()); err != nil || seen.Canaries.Count != 1 ||
		seen.Canaries.Oldest < 28*24*time.Hour {
		t.Errorf("a scrape sees %+v, %v", seen.Canaries, err)
	}
	exec(b, "update cairn.policy_updates set canary_at = now() - interval '31 days'")
	if adapts(b); state(b).State != livelearning.Dropped || !strings.Contains(state(b).Note, "30 days") {
		t.Errorf("after 31 days: %+v", state(b))
	}
	outcomes(b, live(b, "u", 40))
	got, _ := adaptOnce(b)
	if len(adapts(b)) != 0 || got.Update != 2 {
		t.Errorf("%+v", got)
	}
	_, err := b.Learning.Banks.Import(t.Context(), b.Workspace.ID, bank.Default,
		skillFile("capture_dates", "Adds dates."))
	testkit.Must(t, err)
	if adapts(b); state(b).State != livelearning.Dropped || !strings.Contains(state(b).Note, "newer version") {
		t.Errorf("after an import: %+v", state(b))
	}
}

// Concurrent judgments of a canary create one version.
func TestACanaryIsPromotedOnce(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b, got := onCanary(t)
	theirs, ours := arms(b, got)
	rated(b, theirs, 1)
	rated(b, ours, 0)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			_, err := b.Learning.Updates.AcceptDue(
				t.Context(),
				bank.Due{
					Workspace:    b.Workspace.ID,
					WorkspaceKey: b.Workspace.Key,
					Spec:         app.EvolveSpec(b.Config),
					Least:        livelearning.MinDecisions,
				},
			)
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	head, err := b.Learning.Banks.Head(t.Context(), b.Workspace.ID, bank.Default)
	testkit.Must(t, err)
	if now := state(b); now.State != livelearning.InForce || head.Head != 2 || head.Version.Policy != got.Policy ||
		head.Version.Action != bank.ActionAdapt {
		t.Errorf("%+v, in force %+v", now, head.Version)
	}
	if _, err := b.Learning.Banks.Rollback(t.Context(), b.Workspace.ID, bank.Default, 1); err != nil {
		t.Errorf("the bank was not given back: %v", err)
	}
}

// Concurrent sessions together stay within the exploration budget of the workspace. If a bank
// has no more skills than are chosen, it is not explored.
func TestExplorationKeepsToItsBudget(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{Stage: "remember", Reply: `{"actions": []}`})
	setLearning(b, `{"explore_per_day":7}`)
	sampled := func() int { return count(b, "select count(*) from cairn.decisions where sampled") }
	var runs []run.Ref
	for n, k := range []int{10, 1, 1, 1} {
		var said []transcript.Message
		for i := range 6 {
			said = append(said, transcript.Message{Role: transcript.User,
				Content: fmt.Sprintf("Row %d of session %d.", i, n),
				Time:    time.Date(2026, 1, 1+i, 9, 0, 0, 0, time.UTC)})
		}
		runs = append(runs, buildSession(b, said, func(r *build.Request) { r.Keeping.K = k }).Ref)
		if k == 10 {
			if builtBy(b, runs[0]); sampled() != 0 {
				t.Errorf("%d choices were drawn where all skills are chosen", sampled())
			}
		}
	}
	for _, ref := range runs {
		builtBy(b, ref)
	}
	if n := sampled(); n != 7 {
		t.Errorf("%d choices were drawn, want 7", n)
	}
	exec(b, "update cairn.decisions set created_at = now() - interval '25 hours'")
	if live(b, "next", 9); sampled() != 14 {
		t.Errorf("%d choices were drawn after a day, want 14", sampled())
	}
}
