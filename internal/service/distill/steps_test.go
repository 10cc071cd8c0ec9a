package distill_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/contract"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/distill"
	"cairn/internal/testkit"
)

func TestSegmentRepeatedFindsTheTasksThatWerePaid(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.model.says("segment", `[{"task_name":"One","message_indices":[[0,2]]},
		{"task_name":"Two","message_indices":[[3,5]]}]`)
	ref := d.accept(d.request(talk("Checkout"))).Ref
	first, err := d.Segment(t.Context(), pgtest.RunRef(ref))
	testkit.Must(t, err)
	again, err := d.Segment(t.Context(), pgtest.RunRef(ref))
	if err != nil || len(first.Tasks) != 2 || !slices.Equal(again.Tasks, first.Tasks) {
		t.Errorf("divided into %q, and then %q: %v", first.Tasks, again.Tasks, err)
	}
	d.paid("segment 1")
	p, err := d.Progress(t.Context(), ref)
	if err != nil || len(p.Tasks) != 2 || p.Tasks[1].Name != "Two" || p.Tasks[0].Stage != distillation.Chunked ||
		p.Calls != 1 {
		t.Errorf("progress %+v, %v", p, err)
	}
	_, err = d.Segment(t.Context(), pgtest.RunRef(d.nowhere()))
	wants(t, "an unknown run", err, fault.NotFound)
	_, err = d.Progress(t.Context(), d.nowhere())
	wants(t, "progress of an unknown run", err, fault.NotFound)
}

func TestSegmentEndsARunThatHasNothingToLearn(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		reply   string
		class   llm.Class
		outcome run.Outcome
		code    string
		paid    string
	}{
		"no tasks":    {reply: "[]", outcome: run.NothingToExtract, paid: "segment 1"},
		"no answer":   {reply: "I see no tasks.", outcome: run.Failed, code: "model_invalid", paid: "segment 2"},
		"turned down": {class: llm.Fatal, outcome: run.Failed, code: "model_rejected", paid: "segment 1"},
		"too long yet": {class: llm.ContextLength, outcome: run.Failed, code: "model_context_length",
			paid: "segment 2"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			if d.model.says("segment", c.reply); c.class != "" {
				d.model.fails("segment", c.class)
			}
			ref := d.accept(d.request(talk("Checkout"))).Ref
			for range 2 {
				if divided, err := d.Segment(t.Context(), pgtest.RunRef(ref)); len(divided.Tasks) != 0 || err != nil {
					t.Errorf("divided into %q: %v", divided.Tasks, err)
				}
			}
			if r := d.report(ref); r.Outcome != c.outcome || r.Reason == "" || r.Code != c.code {
				t.Errorf("ended as %q with %q: %s", r.Outcome, r.Code, r.Reason)
			}
			d.paid(c.paid)
		})
	}
}

func TestAnEndpointThatIsAwayIsWorthAnotherTry(t *testing.T) {
	t.Parallel()
	d := setup(t)
	good := d.model.answers["extract"]
	ref, key := d.chunked(d.request(talk("Checkout")))
	d.model.fails("extract", llm.Retryable)
	var failed *llm.Error
	if out, err := d.Draft(t.Context(), pgtest.TaskRef(ref, key)); out.Ended || !errors.As(err, &failed) {
		t.Errorf("ended %t: %v", out.Ended, err)
	}
	d.model.answers["extract"] = good
	if out, err := d.Draft(t.Context(), pgtest.TaskRef(ref, key)); out.Ended || err != nil {
		t.Errorf("ended %t: %v", out.Ended, err)
	}
	d.paid("extract 2, segment 1")
}

func TestDraftPlansItsFilesAndIsPaidOnce(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ref, key := d.chunked(d.request(talk("Checkout"), func(r *distill.Request) { r.Spec.Quality = true }))
	for range 2 {
		plan, err := d.Draft(t.Context(), pgtest.TaskRef(ref, key))
		if err != nil || plan != (contract.DraftResult{Files: 2, Judge: true}) {
			t.Errorf("planned %+v: %v", plan, err)
		}
	}
	d.paid("extract 1, segment 1")
	_, err := d.Draft(t.Context(), pgtest.TaskRef(ref, "nothing"))
	failsFor(t, "an unknown task", err)
	_, _, err = d.Recall(t.Context(), ref, "nothing")
	failsFor(t, "recall of an unknown task", err)
}

func TestDraftRepairsAnAnswerThatIsNone(t *testing.T) {
	t.Parallel()
	d := setup(t)
	n := 0
	d.model.answers["extract"] = func(prompt.Material) (string, error) {
		if n++; n == 1 {
			return "Here is what I found.", nil
		}
		return draft("Probe"), nil
	}
	d.drafted(d.request(talk("Checkout")))
	d.paid("extract 2, segment 1")
}

func TestRecallShowsADraftTheSkillsThatAreNear(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.published(d.request(talk("Checkout")))
	ref, key := d.chunked(d.request(talk("Payments")))
	for range 2 {
		if n, ended, err := d.Recall(t.Context(), ref, key); n != 1 || ended || err != nil {
			t.Errorf("%d skills, ended %t: %v", n, ended, err)
		}
	}
	if _, err := d.Draft(t.Context(), pgtest.TaskRef(ref, key)); err != nil {
		t.Fatal(err)
	}
	shown := d.model.last["extract"].Candidates
	if len(shown) != 1 || shown[0].Handle != "S1" || !strings.Contains(shown[0].Procedure, "Roll back") {
		t.Errorf("shown %+v", shown)
	}
	if asked := d.model.last["extract"]; asked.Question != "Roll a failing service back" || asked.Outcome != "success" {
		t.Errorf("the query is %q, the outcome %q", asked.Question, asked.Outcome)
	}
}

func TestDraftEndsATaskThatMakesNoSkill(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		reply   string
		outcome distillation.Outcome
		reason  string
	}{
		"nothing reusable": {`{"action":"skip","reason":"small talk"}`, distillation.Skipped, "small talk"},
		"little trust":     {draft("x", with("confidence", 0.2)), distillation.Skipped, "confidence 0.20"},
		"no answer":        {"no JSON at all", distillation.Failed, "repairs"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			d.model.says("extract", c.reply)
			ref, key := d.chunked(d.request(talk("Checkout")))
			for range 2 {
				if out, err := d.Draft(t.Context(), pgtest.TaskRef(ref, key)); !out.Ended || err != nil {
					t.Errorf("ended %t: %v", out.Ended, err)
				}
			}
			if task := d.report(ref).Tasks[0]; task.Outcome != c.outcome || !strings.Contains(task.Reason, c.reason) {
				t.Errorf("ended as %q: %s", task.Outcome, task.Reason)
			}
			if _, ended, err := d.Recall(t.Context(), ref, key); !ended || err != nil {
				t.Errorf("recall: ended %t: %v", ended, err)
			}
		})
	}
}

func TestWhatFailedForGoodIsNotPaidForAgainAtOnce(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.model.says("extract", "no JSON at all")
	same := func(id string, fresh bool) (run.Ref, string) {
		c := talk("Checkout")
		c.ID = id
		return d.chunked(d.request(c, func(r *distill.Request) { r.Fresh = fresh }))
	}
	for _, id := range []string{"first", "second"} {
		ref, key := same(id, false)
		if out, err := d.Draft(t.Context(), pgtest.TaskRef(ref, key)); !out.Ended || err != nil {
			t.Errorf("%s: ended %t: %v", id, out.Ended, err)
		}
		_, err := d.Close(t.Context(), pgtest.CloseInput(ref, "", ""))
		testkit.Must(t, err)
	}
	if n := d.model.counts["extract"]; n != 2 {
		t.Errorf("asked %d times, want once and its repair", n)
	}
	ref, key := same("second", true) // a deliberate redo asks
	if out, err := d.Draft(t.Context(), pgtest.TaskRef(ref, key)); !out.Ended || err != nil ||
		d.model.counts["extract"] != 4 {
		t.Errorf("ended %t after %d requests: %v", out.Ended, d.model.counts["extract"], err)
	}
}

func TestWriteDegradesTheSkillByFilesThatNobodyCanWrite(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.model.fails("files", llm.Fatal)
	ref, key := d.drafted(d.request(talk("Checkout")))
	for range 2 {
		if out, err := d.Write(t.Context(), pgtest.TaskRef(ref, key)); !out.Degraded || err != nil {
			t.Errorf("degraded %t: %v", out.Degraded, err)
		}
	}
	_, err := d.Write(t.Context(), pgtest.TaskRef(ref, "nothing"))
	failsFor(t, "an unknown task", err)
	_, err = d.Publish(t.Context(), pgtest.TaskRef(ref, key))
	testkit.Must(t, err)
	degraded := d.report(ref).Tasks[0].Degraded
	if len(degraded) != 2 || !strings.HasPrefix(degraded[0], "reference/checklist.md: ") ||
		!strings.HasPrefix(degraded[1], "scripts/check.py: ") {
		t.Errorf("degraded %q", degraded)
	}
}

func TestWriteDegradesTheSkillByAFileThatIsMissing(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.model.says("files", `{"files":[{"file":"check.py","code":"print('healthy')"}]}`)
	ref, key := d.drafted(d.request(talk("Checkout")))
	for range 2 {
		if out, err := d.Write(t.Context(), pgtest.TaskRef(ref, key)); out.Degraded || err != nil {
			t.Errorf("degraded %t: %v", out.Degraded, err)
		}
	}
	d.paid("extract 1, files 1, segment 1")
	if asked := d.model.last["files"]; len(asked.Files) != 2 || len(asked.Messages) == 0 || asked.Draft == nil {
		t.Errorf("asked with %+v", asked)
	}
	_, err := d.Publish(t.Context(), pgtest.TaskRef(ref, key))
	testkit.Must(t, err)
	if degraded := d.report(ref).Tasks[0].Degraded; len(degraded) != 1 ||
		!strings.HasPrefix(degraded[0], "reference/checklist.md: ") {
		t.Errorf("degraded %q", degraded)
	}
}

func TestJudgeScoresADraftOnce(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ref, key := d.written(d.request(talk("Checkout"), func(r *distill.Request) { r.Spec.Quality = true }))
	for range 2 {
		testkit.Must(t, d.Judge(t.Context(), pgtest.TaskRef(ref, key)))
	}
	if task := d.report(ref).Tasks[0]; task.Quality == nil || task.Quality.Score != 8.8 ||
		d.model.counts["judge"] != 1 {
		t.Errorf("quality %+v after %d requests", task.Quality, d.model.counts["judge"])
	}
	failsFor(t, "an unknown task", d.Judge(t.Context(), pgtest.TaskRef(ref, "nothing")))
}

func TestADraftWithoutAScoreStaysADraft(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.model.says("judge", "It is rather good.")
	ref, key := d.written(d.request(talk("Checkout"), func(r *distill.Request) { r.Spec.Quality = true }))
	testkit.Must(t, d.Judge(t.Context(), pgtest.TaskRef(ref, key)))
	c, err := d.Publish(t.Context(), pgtest.TaskRef(ref, key))
	task := d.report(ref).Tasks[0]
	if err != nil || c.Outcome != string(distillation.Created) || task.Quality != nil || task.Status != "draft" ||
		!strings.Contains(strings.Join(task.Notes, " "), "not judged: ") {
		t.Errorf("%+v, %v", task, err)
	}
}

func TestStepsBeforeTheirDraftAreErrors(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ref, key := d.chunked(d.request(talk("Checkout")))
	for what, step := range map[string]func() error{
		"Write":  func() error { _, err := d.Write(t.Context(), pgtest.TaskRef(ref, key)); return err },
		"Judge":  func() error { return d.Judge(t.Context(), pgtest.TaskRef(ref, key)) },
		"Merge":  func() error { return d.Merge(t.Context(), pgtest.TaskRef(ref, key)) },
		"Pack":   func() error { _, err := d.Pack(t.Context(), ref, key); return err },
		"Commit": func() error { _, err := d.Commit(t.Context(), ref, key); return err },
	} {
		if err := step(); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if rows := d.Rows("skills", "packages"); rows != "skills 0, packages 0" {
		t.Errorf("there are %s", rows)
	}
}

func TestEndTaskKeepsTheFirstEnd(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ref, key := d.chunked(d.request(talk("Checkout")))
	if _, err := d.EndTask(t.Context(), endTask(ref, key, "", "")); err == nil {
		t.Error("a task that is under way has ended by itself")
	}
	late := endTask(ref, key, "cancelled", "x")
	late.Attempt = 7
	if _, err := d.EndTask(t.Context(), late); err != nil || d.report(ref).Tasks[0].Stage == distillation.EndedTask {
		t.Errorf("another attempt ends it: %v", err)
	}
	for _, reason := range []string{"first", "second"} {
		got, err := d.EndTask(t.Context(), endTask(ref, key, "unavailable", reason))
		if err != nil || got.Outcome != string(distillation.Failed) ||
			d.report(ref).Tasks[0].Reason != "unavailable: first" {
			t.Errorf("%s: %+v, %v", reason, got, err)
		}
	}
	testkit.Must(t, d.AwaitTask(t.Context(), pgtest.TaskRef(ref, key)))
	_, err := d.EndTask(t.Context(), endTask(ref, "nothing", "cancelled", "x"))
	failsFor(t, "an unknown task", err)
}

func TestAwaitTaskGivesUpWithItsCaller(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ref, key := d.chunked(d.request(talk("Checkout")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.AwaitTask(ctx, pgtest.TaskRef(ref, key)); !errors.Is(err, context.Canceled) {
		t.Errorf("awaited: %v", err)
	}
	failsFor(t, "an unknown task", d.AwaitTask(t.Context(), pgtest.TaskRef(ref, "nothing")))
}

func TestCloseKeepsTheFirstEnd(t *testing.T) {
	t.Parallel()
	d := setup(t)
	ref, _ := d.chunked(d.request(talk("Checkout")))
	late := pgtest.CloseInput(ref, "cancelled", "x")
	late.Attempt = 7
	if out, err := d.Close(t.Context(), late); err != nil || out.Outcome != "" {
		t.Errorf("another attempt ends it: %+v, %v", out, err)
	}
	first, err := d.Close(t.Context(), pgtest.CloseInput(ref, "cancelled", "canceled by the user"))
	if err != nil || first.Outcome != string(run.CancelledOutcome) || first.Tasks != 1 || first.Failed != 1 {
		t.Errorf("closed with %+v, %v", first, err)
	}
	again, err := d.Close(t.Context(), pgtest.CloseInput(ref, "", ""))
	if err != nil || again != first || d.report(ref).Code != "cancelled" {
		t.Errorf("closed again with %+v, %v", again, err)
	}
	if r := d.report(ref); r.Status != run.Ended || r.Reason != "canceled by the user" || r.Code != "cancelled" {
		t.Errorf("report %+v", r)
	}
	_, err = d.Close(t.Context(), pgtest.CloseInput(d.nowhere(), "", ""))
	wants(t, "an unknown run", err, fault.NotFound)
	_, err = d.Report(t.Context(), d.nowhere())
	wants(t, "the report of an unknown run", err, fault.NotFound)
}

func TestAddUpTellsWhatARunComesTo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		outcomes []distillation.Outcome
		want     run.Outcome
	}{
		{nil, run.NothingToExtract},
		{[]distillation.Outcome{distillation.Skipped}, run.NothingToExtract},
		{[]distillation.Outcome{distillation.Failed, ""}, run.Failed},
		{[]distillation.Outcome{distillation.Failed, distillation.Created}, run.CompletedPartial},
		{[]distillation.Outcome{distillation.Skipped, distillation.Staged}, run.Completed},
		{[]distillation.Outcome{distillation.Unchanged, distillation.Updated, distillation.Created}, run.Completed},
	} {
		if got := distillation.AddUp(c.outcomes); got.Outcome != c.want || got.Tasks != len(c.outcomes) {
			t.Errorf("%q: %+v", c.outcomes, got)
		}
	}
}
