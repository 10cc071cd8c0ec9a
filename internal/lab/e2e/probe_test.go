package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"cairn/internal/app"
	"cairn/internal/domain/erasure"
	domainlearning "cairn/internal/domain/learning"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/transcript"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/learning"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	livelearning "cairn/internal/service/learning/live"
	trainer "cairn/internal/service/learning/train"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// probed waits for the end of all probes.
func probed(b *apptest.Bundle, runs int) (out []livelearning.ProbeResult) {
	b.T.Helper()
	testkit.Eventually(b.T, fmt.Sprintf("memory has asked itself %d times", runs), func() bool {
		return count(b, "select count(*) from cairn.runs where kind = 'probe' and status = 'ended'") == runs
	})
	for _, raw := range column[string](b, "select result::text from cairn.runs where kind = 'probe' "+
		"order by created_at") {
		var one livelearning.ProbeResult
		testkit.Must(b.T, json.Unmarshal([]byte(raw), &one))
		out = append(out, one)
	}
	return out
}

// quizzes scripts the model: it saves the first two facts of building and skips the third. It
// asks a question about the second, one about the third, and one that is not grounded.
func quizzes(b *apptest.Bundle) {
	b.Model.On(openaitest.Rule{Stage: "remember", Match: "cellar key", Reply: `{"actions": []}`})
	b.Model.On(openaitest.Rule{Stage: "remember", ReplyFunc: keeper})
	b.Model.On(openaitest.Rule{Stage: "probe", Reply: `{"probes": [
{"question": "How many lemon trees has the greenhouse?", "answer": "two", "evidence": [1]},
{"question": "Where does the cellar key hang?", "answer": "by the door", "evidence": [2]},
{"question": "Where does Vera live?", "answer": "in Bergen", "evidence": [2]}]}`})
}

// probesOf returns the rows of probes as text.
func probesOf(b *apptest.Bundle) []string {
	return column[string](b, "select number || ' ' || answer || ' ' || state || ' ' || coalesce(score::text, '-') "+
		"from cairn.probes p join cairn.runs r on r.id = p.run_id order by r.created_at, number")
}

// A probe creates outcomes for the decisions behind the memory with the answer. If the answer is
// missing, it creates them for the decisions of the span that saved nothing.
func TestMemoryAsksItselfWhatItHasRemembered(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	quizzes(b)
	setLearning(b, `{"probes_per_day":5}`)
	r := buildSession(b, building())
	builtBy(b, r.Ref)
	got := probed(b, 1)[0]
	if got.Outcome != run.Completed || got.Probes != 2 || got.Scored != 2 || got.Mean != .5 ||
		got.Bank != bank.Default {
		t.Errorf("%+v", got)
	}
	if rows := probesOf(b); !slices.Equal(rows, []string{"0 two scored 1", "1 by the door scored 0"}) {
		t.Errorf("%q", rows)
	}
	if got := outcomesOf(b); !slices.Equal(got, []string{"0 probe 1", "1 probe 1", "2 probe 0"}) {
		t.Errorf("outcomes %q", got)
	}
	calls := asked(b, "probe")
	if len(calls) != 1 {
		t.Fatalf("%d calls, want one for the session", len(calls))
	}
	m, err := prompt.ReadMaterial(calls[0].Messages[1].Content)
	testkit.Must(t, err)
	if len(m.Messages) != 3 || m.Messages[2].Index != 2 || m.Limits["max_probes"] != 3 {
		t.Errorf("shown %+v, %v", m.Messages, m.Limits)
	}
	head, err := b.Learning.Banks.At(t.Context(), b.Workspace.ID, bank.Default, 0)
	testkit.Must(t, err)
	for id, s := range head.Stats { // all four were chosen for each span
		if s.Count != 3 || s.Mean < .6 || s.Mean > .7 {
			t.Errorf("%s is scored %d times, %v", id, s.Count, s.Mean)
		}
	}
	if n := count(b, "select count(*) from cairn.memory_views") +
		count(b, "select coalesce(sum(retrieve_count), 0)::int from cairn.memories"); n != 0 {
		t.Errorf("asking itself counts as use, %d times", n)
	}
	listed, err := b.Learning.Probes.List(t.Context(), b.Workspace.ID, bank.Default, 10)
	if err != nil || len(listed) != 2 || listed[0].Question != "How many lemon trees has the greenhouse?" ||
		*listed[0].Score != 1 || !slices.Equal(listed[1].Evidence, []int{2}) || listed[1].EndedAt == nil {
		t.Errorf("%+v, %v", listed, err)
	}
	b.Record(column[string](b, "select workflow_id from cairn.runs where kind = 'probe'")[0], "Probe/completed")

	// Probes and their outcomes are erased with the conversation.
	if n := count(b, "select count(*) from cairn.llm_calls where stage = 'probe'"); n != 1 {
		t.Errorf("%d calls in the ledger", n)
	}
	var conversation int64
	b.Within(func(ctx context.Context, q store.Tx) error {
		of, err := q.Runs().Run(ctx, r.Ref.Run)
		conversation = of.Conversation
		return err
	})
	erased(b, erasure.Target{Workspace: b.Workspace.ID, Conversation: conversation, Derived: erasure.Keep})
	for _, table := range []string{"probes", "decision_outcomes", "llm_calls where stage = 'probe'"} {
		if n := count(b, "select count(*) from cairn."+table); n != 0 {
			t.Errorf("%d of %s are left of an erased conversation", n, table)
		}
	}
}

// The policy learns from probes as it does from feedback, and uses the drawn choices. A miss is
// attributed to the decision for the span with the answer.
func TestAPolicyLearnsFromProbes(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	quizzes(b)
	setLearning(b, `{"explore_per_day":1000,"probes_per_day":5}`)
	r := buildSession(b, building(), func(r *build.Request) { r.Keeping.K = 3 })
	builtBy(b, r.Ref)
	probed(b, 1)
	told := outcomesOf(b)
	if n := takes(b); n != len(told) || n < 2 || !slices.Contains(told, "2 probe 0") {
		t.Fatalf("%d decisions may be learnt from, outcomes %q", n, told)
	}
	started, err := b.Learning.Updates.AcceptDue(t.Context(),
		bank.Due{Workspace: b.Workspace.ID, WorkspaceKey: b.Workspace.Key, Spec: app.EvolveSpec(b.Config), Least: 2})
	testkit.Must(t, err)
	if len(started) != 1 {
		t.Fatalf("%d updates were started", len(started))
	}
	if got := adaptedTo(b, started[0].Ref); got.Outcome != trainer.NotEnough || got.Decisions != len(told) ||
		got.Report == nil || got.Report.Credited != len(told) {
		t.Errorf("%+v", got)
	}
}

// A workspace has at most its daily budget of probes, even if many sessions end at once, and
// pays no further calls. If probes are off, or nothing can be learned from them, there are none.
func TestProbesKeepToTheirBudget(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.Open(t)
	quizzes(b)
	session := 0
	remembers := func() run.Ref {
		session++
		said := building()
		said[0].Content = fmt.Sprintf("%s Session %d.", said[0].Content, session)
		return buildSession(b, said).Ref
	}
	for _, none := range []string{`{}`, `{"probes_per_day":5,"explore_per_day":0}`,
		`{"probes_per_day":5,"frozen":true}`} {
		setLearning(b, none)
		builtBy(b, remembers())
		setLearning(b, `{"frozen":false,"explore_per_day":20,"probes_per_day":0}`)
	}
	b.Within(func(ctx context.Context, q store.Tx) error {
		_, err := q.Workspaces().PatchSettings(ctx,
			json.RawMessage(`{"memory":{"builder":"agents","learning":{"probes_per_day":5}}}`))
		return err
	})
	builtBy(b, remembers())
	if n := count(b, "select count(*) from cairn.runs where kind = 'probe'"); n != 0 {
		t.Errorf("%d runs where there should be none", n)
	}
	setLearning(b, `{"probes_per_day":3}`)
	var all sync.WaitGroup
	refs := make([]run.Ref, 4)
	for i := range refs {
		refs[i] = remembers()
	}
	for _, ref := range refs {
		all.Go(func() { builtBy(b, ref) })
	}
	all.Wait()
	runs := count(b, "select count(*) from cairn.runs where kind = 'probe'")
	probed(b, runs)
	if n := len(probesOf(b)); n != 3 || runs > 3 || len(asked(b, "probe")) > 3 {
		t.Errorf("%d questions of %d runs and %d calls, want 3", n, runs, len(asked(b, "probe")))
	}
	builtBy(b, remembers())
	if n := count(b, "select count(*) from cairn.runs where kind = 'probe'"); n != runs {
		t.Errorf("%d runs after the day was spent, want %d", n, runs)
	}
	exec(b, "update cairn.runs set created_at = now() - interval '25 hours' where kind = 'probe'")
	builtBy(b, remembers())
	if probed(b, runs+1); len(probesOf(b)) != 5 {
		t.Errorf("%d questions the day after, want 5", len(probesOf(b)))
	}
}

// silent is an embedder that is down.
type silent struct{ bank.Embedder }

func (silent) Embed(context.Context, []string) ([][]float32, error) {
	return nil, errors.New("connection refused")
}

// accepted returns a probe whose build has ended and that no worker has started.
func accepted(b *apptest.Bundle, service *learning.Service) run.Ref {
	b.T.Helper()
	setLearning(b, `{"probes_per_day":5}`)
	r := buildSession(b, building())
	_, _, err := service.Builds.Open(b.T.Context(), r.Ref)
	testkit.Must(b.T, err)
	for n := range 3 {
		_, err := service.Builds.BuildSpan(b.T.Context(), r.Ref, n)
		testkit.Must(b.T, err)
	}
	_, err = service.Builds.Close(b.T.Context(), r.Ref, "", "")
	testkit.Must(b.T, err)
	return run.Ref{Workspace: b.Workspace.ID,
		Run: column[string](b, "select id from cairn.runs where kind = 'probe'")[0]}
}

// If an endpoint fails, the probe has an error and no score. A question whose evidence was
// erased gets no score. Neither affects a decision.
func TestAnOutageIsNoBadAnswerOfAProbe(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	quizzes(b)
	ref := accepted(b, b.Learning)
	n, err := b.Learning.Probes.Make(t.Context(), ref)
	if err != nil || n != 2 {
		t.Fatalf("%d probes, %v", n, err)
	}
	ports := b.Learning.Ports
	ports.Embedder = silent{ports.Embedder}
	down := learning.New(ports)
	if err := down.Probes.Ask(t.Context(), ref, 0); err == nil {
		t.Error("a question was asked without its vector")
	}
	exec(b, `update cairn.decisions set outcome = '{"outcome":"llm_error"}' where span = 2`)
	testkit.Must(t, b.Learning.Probes.Ask(t.Context(), ref, 1))
	if err := b.Learning.Probes.Ask(t.Context(), ref, 2); err == nil {
		t.Error("a probe that there is not was asked")
	}
	got, err := b.Learning.Probes.Close(t.Context(), ref, "unavailable", "the embedder does not answer")
	testkit.Must(t, err)
	if got.Outcome != run.Failed || got.Errors != 1 || got.Unscored != 1 || got.Scored != 0 {
		t.Errorf("%+v", got)
	}
	if rows := probesOf(b); !slices.Equal(rows, []string{"0 two error -", "1 by the door unscored -"}) {
		t.Errorf("%q", rows)
	}
	// A closed probe does not change.
	testkit.Must(t, b.Learning.Probes.Ask(t.Context(), ref, 0))
	if n := len(outcomesOf(b)) +
		count(b, "select count(*) from cairn.skill_stats where stats ->> 'count' <> '0'"); n != 0 {
		t.Errorf("%d outcomes of an outage", n)
	}

	other := apptest.Open(t) // a model that gives nothing of use
	other.Model.On(openaitest.Rule{Stage: "probe", Refusal: "no"})
	other.Model.On(openaitest.Rule{Stage: "remember", ReplyFunc: keeper})
	setLearning(other, `{"probes_per_day":5}`)
	if built := builtBy(other, buildSession(other, building()).Ref); built.Outcome != run.Completed {
		t.Errorf("a build whose probing failed: %+v", built)
	}
	if got := probed(other, 1)[0]; got.Outcome != run.Failed || got.Probes != 0 || len(outcomesOf(other)) != 0 {
		t.Errorf("%+v", got)
	}
	other.Record(column[string](other, "select workflow_id from cairn.runs where kind = 'probe'")[0], "Probe/failed")
}

// If learning is frozen meanwhile, no probe is asked, and earlier probes are not learned from.
func TestAFrozenWorkspaceIsNotProbed(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	quizzes(b)
	ref := accepted(b, b.Learning)
	setLearning(b, `{"frozen":true}`)
	if n, err := b.Learning.Probes.Make(t.Context(), ref); err != nil || n != 0 || len(asked(b, "probe")) != 0 {
		t.Errorf("%d probes after %d calls, %v", n, len(asked(b, "probe")), err)
	}
	setLearning(b, `{"frozen":false}`)
	n, err := b.Learning.Probes.Make(t.Context(), ref)
	if err != nil || n != 2 {
		t.Fatalf("%d probes, %v", n, err)
	}
	setLearning(b, `{"frozen":true}`)
	testkit.Must(t, b.Learning.Probes.Ask(t.Context(), ref, 0))
	if rows := probesOf(b); rows[0] != "0 two unscored -" || len(outcomesOf(b)) != 0 {
		t.Errorf("%q, outcomes %q", rows, outcomesOf(b))
	}
}

// Wherever and however often a worker dies, each probe is paid, asked and counted once.
func TestAProbeCountsOnceWhateverDies(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	quizzes(b)
	setLearning(b, `{"probes_per_day":5}`)
	service, dies := shaken(b)
	r := buildSession(b, building())
	dies.survive(t, "open the build", func() error { _, _, err := service.Builds.Open(t.Context(), r.Ref); return err })
	for n := range 3 {
		dies.survive(t, fmt.Sprint("span ", n), func() error {
			_, err := service.Builds.BuildSpan(t.Context(), r.Ref, n)
			return err
		})
	}
	dies.survive(t, "close the build", func() error {
		_, err := service.Builds.Close(t.Context(), r.Ref, "", "")
		return err
	})
	runs := column[string](b, "select id from cairn.runs where kind = 'probe'")
	if len(runs) != 1 {
		t.Fatalf("%d runs", len(runs))
	}
	ref := run.Ref{Workspace: b.Workspace.ID, Run: runs[0]}
	dies.survive(t, "open", func() error { _, err := service.Probes.Open(t.Context(), ref); return err })
	var made int
	dies.survive(t, "make", func() (err error) { made, err = service.Probes.Make(t.Context(), ref); return err })
	if made != 2 {
		t.Errorf("%d probes", made)
	}
	for n := range 2 {
		dies.survive(t, fmt.Sprint("ask ", n), func() error { return service.Probes.Ask(t.Context(), ref, n) })
	}
	var got livelearning.ProbeResult
	dies.survive(t, "close", func() (err error) {
		got, err = service.Probes.Close(t.Context(), ref, "", "")
		return err
	})
	if got.Outcome != run.Completed || got.Scored != 2 || got.Mean != .5 {
		t.Errorf("%+v", got)
	}
	if calls := len(asked(b, "probe")); calls != 1 {
		t.Errorf("%d calls, want 1", calls)
	}
	if got := outcomesOf(b); !slices.Equal(got, []string{"0 probe 1", "1 probe 1", "2 probe 0"}) {
		t.Errorf("outcomes %q", got)
	}
	for what, want := range map[string]int{"probes": 2, "runs where kind = 'probe'": 1, "decision_outcomes": 3,
		"llm_calls where stage = 'probe' and state = 'done'": 1, "skill_stats where stats ->> 'count' = '3'": 10} {
		if n := count(b, "select count(*) from cairn."+what); n != want {
			t.Errorf("%d of %s, want %d", n, what, want)
		}
	}
}

// A worker that dies after paying for the questions and before storing any resumes with them.
func TestAProbingSurvivesAKilledWorker(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Model.On(openaitest.Rule{Stage: "probe", Times: 1, Barrier: "asked", Drop: true})
	quizzes(b)
	setLearning(b, `{"probes_per_day":5}`)
	worker := b.StartProcess()
	builtBy(b, buildSession(b, building()).Ref)
	testkit.Must(t, b.Model.AwaitBarrier(t.Context(), "asked", 1))
	worker.Kill()
	b.Model.Release("asked")
	b.StartProcess()
	if got := probed(b, 1)[0]; got.Outcome != run.Completed || got.Scored != 2 {
		t.Errorf("%+v", got)
	}
	if got := outcomesOf(b); len(got) != 3 {
		t.Errorf("outcomes %q", got)
	}
}

// Another workspace can neither see nor end the probes of this one.
func TestProbesStayInTheirWorkspace(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	quizzes(b)
	ref := accepted(b, b.Learning)
	_, err := b.Learning.Probes.Make(t.Context(), ref)
	testkit.Must(t, err)
	other, err := b.Store.Workspace(t.Context(), "other", true)
	testkit.Must(t, err)
	testkit.Must(t, b.Store.InWorkspace(t.Context(), other.ID, func(_ context.Context, q store.Tx) error {
		if seen, err := q.Probes().ProbesOf(t.Context(), ref.Run); err != nil || len(seen) != 0 {
			t.Errorf("another workspace sees %d probes, %v", len(seen), err)
		}
		if n, err := q.Probes().ProbesSpent(t.Context()); err != nil || n != 0 {
			t.Errorf("another workspace has spent %d, %v", n, err)
		}
		if ended, err := q.Probes().EndProbe(t.Context(),
			domainlearning.Probe{Run: ref.Run, State: livelearning.StateError}); err != nil || ended {
			t.Errorf("another workspace ended one: %v, %v", ended, err)
		}
		return nil
	}))
	if err := b.Learning.Probes.Ask(t.Context(), run.Ref{Workspace: other.ID, Run: ref.Run}, 0); err == nil ||
		strings.Contains(err.Error(), "lemon") {
		t.Errorf("asked from another workspace: %v", err)
	}
	if _, err := b.Learning.Builds.Accept(t.Context(),
		build.Request{Workspace: other.ID, WorkspaceKey: other.Key,
			Messages: []transcript.Message{{Role: transcript.User, Content: "Hello there."}},
			Spec:     app.EvolveSpec(b.Config)}); err != nil {
		t.Error(err)
	}
}
