package build_test

import (
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/domain/settings"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	"cairn/internal/testkit"
)

func wants(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// request returns a request with two messages, each in its own span.
func request(l *pgtest.Learning) build.Request {
	k := bank.DefaultSpanOptions()
	k.Tokens, k.Overlap, k.K = 24, 0, 4 // all skills
	return build.Request{Workspace: l.DB.A.ID, WorkspaceKey: l.DB.A.Key, Spec: l.Spec(), Keeping: k,
		Messages: pgtest.Dialogue(
			"The greenhouse behind the house has nine lemon trees, which Vera planted in March.",
			"The key of the cellar hangs by the kitchen door, next to the blue umbrella of Otto.")}
}

func TestASessionIsAcceptedOnce(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	r := request(l)
	r.Trace = "monday"
	first, err := l.Builds.Accept(t.Context(), r)
	testkit.Must(t, err)
	again, err := l.Builds.Accept(t.Context(), r)
	testkit.Must(t, err)
	if again.Ref != first.Ref || l.DB.Rows("runs", "conversations") != "runs 1, conversations 1" {
		t.Errorf("%v, then %v", first.Ref, again.Ref)
	}
	r.Fresh = true
	fresh, err := l.Builds.Accept(t.Context(), r)
	if err != nil || fresh.Generation != 2 {
		t.Errorf("%+v, %v", fresh, err)
	}
	r.Fresh, r.Messages = false, r.Messages[:1]
	_, err = l.Builds.Accept(t.Context(), r)
	wants(t, "other messages under one id", err, fault.OpReused)
	r.Trace, r.Messages = "", nil
	_, err = l.Builds.Accept(t.Context(), r)
	wants(t, "no messages", err, fault.InvalidArgument)
	r = request(l)
	r.Keeping.Mode = "sentence"
	_, err = l.Builds.Accept(t.Context(), r)
	wants(t, "a way to cut that there is not", err, fault.InvalidArgument)
	r = request(l)
	r.Bank = "other"
	_, err = l.Builds.Accept(t.Context(), r)
	wants(t, "a bank that there is not", err, fault.NotFound)
}

func TestEachStepOfABuildIsDoneOnce(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	l.Script.On(prompt.Remember, pgtest.InsertAll)
	r, err := l.Builds.Accept(t.Context(), request(l))
	testkit.Must(t, err)
	for range 2 {
		spans, over, err := l.Builds.Open(t.Context(), r.Ref)
		if err != nil || spans != 2 || over != nil {
			t.Fatalf("%d spans, %+v, %v", spans, over, err)
		}
		for n := range spans {
			out, err := l.Builds.BuildSpan(t.Context(), r.Ref, n)
			if err != nil || out.Outcome != executor.OK || out.Actions[0].Outcome != executor.OK {
				t.Fatalf("%+v, %v", out, err)
			}
		}
	}
	_, err = l.Builds.BuildSpan(t.Context(), r.Ref, 2)
	wants(t, "a span that there is not", err, fault.InvalidArgument)
	var got [2]build.Result
	for i := range got {
		got[i], err = l.Builds.Close(t.Context(), r.Ref, "", "")
		testkit.Must(t, err)
		if got[i].Outcome != run.Completed || got[i].Spans != 2 || len(got[i].Added) != 2 || got[i].Version != 1 {
			t.Errorf("%+v", got[i])
		}
	}
	if _, over, err := l.Builds.Open(t.Context(), r.Ref); err != nil || over == nil || over.Spans != 2 {
		t.Errorf("opened when it has ended: %+v, %v", over, err)
	}
	if rows := l.DB.Rows("decisions", "memories"); rows != "decisions 2, memories 2" || len(l.Script.Steps()) != 2 {
		t.Errorf("%s, asked %q", rows, l.Script.Steps())
	}
	_, _, err = l.Builds.Open(t.Context(), l.Ref("run_00000000000000000000000000"))
	wants(t, "a run that there is not", err, fault.NotFound)
}

func TestABuildWithoutAnyAnswerFails(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	l.Script.On(prompt.Remember, func(prompt.Material) (string, error) {
		return "", fault.New(fault.ModelRefused, "the model declined", "")
	})
	r, err := l.Builds.Accept(t.Context(), request(l))
	testkit.Must(t, err)
	for n := range 2 {
		out, err := l.Builds.BuildSpan(t.Context(), r.Ref, n)
		if err != nil || out.Outcome != executor.LLMError {
			t.Errorf("%+v, %v", out, err)
		}
	}
	got, err := l.Builds.Close(t.Context(), r.Ref, "", "")
	if err != nil || got.Outcome != run.Failed || got.Failed != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAnIdleConversationIsRememberedOnce(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	r, err := l.Builds.Accept(t.Context(), request(l))
	testkit.Must(t, err)
	l.DB.Exec("update runs set status = 'ended', outcome = 'failed', ended_at = now()")
	idle := build.IdleRequest{Workspace: l.DB.A.ID, WorkspaceKey: l.DB.A.Key, Conversation: r.Conversation,
		Spec:    l.Spec(),
		Keeping: bank.DefaultSpanOptions()}
	out, err := l.Builds.AcceptIdle(t.Context(), idle)
	if err != nil || out != nil {
		t.Errorf("where agents remember: %+v, %v", out, err)
	}
	l.DB.Choose(func(s *settings.Settings) { s.Memory.Builder = settings.BuilderSkills })
	out, err = l.Builds.AcceptIdle(t.Context(), idle)
	if err != nil || out == nil || !strings.HasPrefix(out.Key, "idle/") {
		t.Fatalf("%+v, %v", out, err)
	}
	again, err := l.Builds.AcceptIdle(t.Context(), idle)
	if err != nil || again != nil {
		t.Errorf("under way: %+v, %v", again, err)
	}
	idle.Conversation = 999
	_, err = l.Builds.AcceptIdle(t.Context(), idle)
	wants(t, "a conversation that there is not", err, fault.NotFound)
}

// Skills that are drawn differ between spans, do not depend on the policy, and are the same in a retry.
func TestSkillsAreDrawnForABaseline(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	l.Script.On(prompt.Remember, pgtest.InsertAll)
	drawn := map[string]bool{}
	for _, seed := range []string{"a", "b", "c", "d", "e", "a"} {
		r := request(l)
		r.Trace, r.Keeping.Draw, r.Keeping.K = "t-"+seed, seed, 2
		made, err := l.Builds.Accept(t.Context(), r)
		testkit.Must(t, err)
		_, _, err = l.Builds.Open(t.Context(), made.Ref)
		testkit.Must(t, err)
		_, err = l.Builds.BuildSpan(t.Context(), made.Ref, 0)
		testkit.Must(t, err)
		chosen := l.DB.Text("select (choice->'chosen')::text from decisions where run_id = $1", made.Ref.Run)
		uniform := l.DB.Number(
			"select (abs((choice->>'log_prob')::float8 + ln(n * (n - 1))) < 1e-9)::int from (select "+
				"choice, jsonb_array_length(choice->'candidates') as n from decisions where run_id = $1) d",
			made.Ref.Run,
		)
		if strings.Count(chosen, ",") != 1 || uniform != 1 {
			t.Errorf("seed %s chose %s, uniformly: %d", seed, chosen, uniform)
		}
		drawn[chosen] = true
	}
	if len(drawn) < 3 {
		t.Errorf("six draws chose %v", drawn)
	}
}

// A build that failed is built again on request, and one that has not is not.
func TestAFailedBuildIsRetried(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	r := request(l)
	r.Trace, r.Retry = "monday", true
	first, err := l.Builds.Accept(t.Context(), r)
	testkit.Must(t, err)
	again, err := l.Builds.Accept(t.Context(), r)
	if err != nil || again.Ref != first.Ref {
		t.Errorf("%v, then %v, %v", first.Ref, again.Ref, err)
	}
	_, err = l.Builds.Close(t.Context(), first.Ref, string(fault.ModelAuth), "no key")
	testkit.Must(t, err)
	again, err = l.Builds.Accept(t.Context(), r)
	if err != nil || again.Generation != 2 {
		t.Errorf("%+v, %v", again, err)
	}
}
