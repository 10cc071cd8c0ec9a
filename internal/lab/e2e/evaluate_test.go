package e2e_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cairn/internal/app"
	"cairn/internal/app/config"
	"cairn/internal/app/samples"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	evals "cairn/internal/service/evaluation"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// obeys decides for each request whether a model follows the schema: in 85 % of all cases.
func obeys(c openaitest.Call) bool {
	sum := sha256.Sum256([]byte(c.Run + c.Task + string(c.Body)))
	return int(sum[0])*100/256 < 85
}

// skilled is a model for evaluations: it remembers every message, answers with the best memory, and lets
// through what was right. Some replies do not follow the schema.
func skilled(c openaitest.Call) string {
	if !obeys(c) {
		return "Sure! Here is what I found."
	}
	m, err := prompt.ReadMaterial(c.Messages[1].Content)
	if err != nil {
		return err.Error()
	}
	var reply any
	switch prompt.Stage(c.Stage) {
	case prompt.Remember:
		actions := []any{}
		for _, said := range m.Messages[:min(len(m.Messages), 6)] {
			actions = append(actions, map[string]any{"type": "insert", "target": nil, "content": said.Content,
				"about": said.Name, "memory_type": "personal", "evidence": []int{said.Index}, "skill": "insert"})
		}
		reply = map[string]any{"actions": actions}
	case prompt.Recite:
		answer := "unknown"
		if len(m.Memories) > 0 {
			answer = m.Memories[0]
		}
		reply = map[string]any{"answer": answer}
	case prompt.Grade:
		score := 0.0
		if words := regexp.MustCompile(`\w{4,}`).FindString(string(m.Cases)); words != "" {
			score = 0.5
		}
		reply = map[string]any{"reason": "it shares words", "score": score}
	case prompt.Diagnose:
		return `{"failure_patterns": [], "recommendations": [], "summary": "details are lost"}`
	case prompt.Propose:
		return capturesPlans
	}
	raw, _ := json.Marshal(reply)
	return string(raw)
}

const capturesPlans = `{"summary": "capture plans", "changes": [{"action": "add_new", "name": null, "changes": null, ` +
	`"reasoning": "plans are lost", "skill": {"name": "capture_plans", "title": "Capture plans", "description": ` +
	`"Adds each plan for a trip or a meeting that the span mentions, with its day.", "purpose": "Remember plans.", ` +
	`"when_to_use": ["The span names a plan"], "how_to_apply": ["One item for each plan"], "constraints": ` +
	`["Ignore greetings"], "action": "insert"}}]}`

// unreliable serves a model that takes 100 to 300 ms and answers 8 % of the requests with status 429.
func unreliable(t *testing.T, model *openaitest.Server, fastest time.Duration) string {
	t.Helper()
	var n atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := n.Add(1)
		select {
		case <-time.After(fastest + time.Duration(i*37%20)*fastest/10):
		case <-r.Context().Done():
			return
		}
		if i%25 == 7 || i%25 == 19 {
			w.Header().Set("Retry-After", "1")
			http.Error(w, `{"error": {"message": "slow down"}}`, http.StatusTooManyRequests)
			return
		}
		model.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// evaluated waits for the end of an evaluation.
func evaluated(b *apptest.Bundle, ref run.Ref, patience time.Duration) (out evals.Result) {
	b.T.Helper()
	for until := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		p, err := b.Evaluations.Progress(b.T.Context(), ref)
		testkit.Must(b.T, err)
		if p.Result != nil {
			return *p.Result
		}
		if time.Now().After(until) {
			b.T.Fatalf("the evaluation is stuck: %+v", p)
		}
	}
}

func evaluation(b *apptest.Bundle, data evals.Data, split string, rows ...string) evals.Request {
	b.T.Helper()
	r := evals.Request{Workspace: b.Workspace.ID, Data: data, Rows: rows}
	r.Spec.RunSpec = app.EvolveSpec(b.Config)
	var err error
	r.Split, err = evals.ParseSplit(split, evals.DefaultSeed, data.Samples)
	testkit.Must(b.T, err)
	return r
}

func sampleTalks(t *testing.T) evals.Data {
	t.Helper()
	data, err := evals.Read(evals.LoCoMo, string(samples.Talks))
	testkit.Must(t, err)
	return data
}

// An evaluation asks the configured model for everything, and the same request is not run twice.
func TestAnEvaluationMeasuresItsRows(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{ReplyFunc: skilled})
	r := evaluation(b, sampleTalks(t), "0/1/2", evals.None, evals.Static, evals.All, evals.Random,
		evals.BestFixed)
	r.Data.Samples = r.Data.Samples[:3]
	r.Limit, r.Judge, r.Sets = 3, "scripted", 2
	var err error
	r.Split, err = evals.ParseSplit("0/1/2", evals.DefaultSeed, r.Data.Samples)
	testkit.Must(t, err)
	made, err := b.Evaluations.Accept(t.Context(), r)
	testkit.Must(t, err)
	got := evaluated(b, made.Ref, 2*time.Minute)
	if got.Outcome != run.Completed || len(got.Rows) != 5 || got.Incomplete() != "" {
		t.Fatalf("%+v", got)
	}
	for _, row := range got.Rows {
		if row.Questions != 6 || row.Judge == nil || len(row.Conversations) != 2 || len(row.Categories) == 0 ||
			row.Usage.Calls < 12 || row.Interval == nil {
			t.Errorf("%+v", row)
		}
		memories := row.Name != evals.None
		if (row.Memories > 0) != memories || (row.Build.Calls > 0) != memories ||
			(row.Evidence != nil && *row.Evidence > 0) != memories {
			t.Errorf("%s: %d memories by %d calls, evidence %v", row.Name, row.Memories, row.Build.Calls, row.Evidence)
		}
		if (row.Versus == nil) != (row.Name == evals.Static) {
			t.Errorf("%s: %+v", row.Name, row.Versus)
		}
	}
	if len(got.FixedSet) != 3 {
		t.Errorf("best fixed set %v", got.FixedSet)
	}
	b.RecordEnded(made.WorkflowID, "Evaluate/completed")
	calls := b.Model.Count("")
	exec(b, "select cairn.prune_calls('0 s', 10000), cairn.prune_runs('0 s', 10000)") // its table stays
	again, err := b.Evaluations.Accept(t.Context(), r)
	testkit.Must(t, err)
	if kept := evaluated(b, again.Ref, time.Minute); !reflect.DeepEqual(kept, got) {
		t.Errorf("after the retention of runs: %+v", kept)
	}
	if again.Ref != made.Ref || !again.Resumed || b.Model.Count("") != calls {
		t.Errorf("%v, then %v after %d more requests", made.Ref, again.Ref, b.Model.Count("")-calls)
	}
	page, err := got.HTML()
	testkit.Must(t, err)
	for _, want := range []string{"best-fixed", "single-hop", "Manifest", got.Manifest.DataSHA,
		fmt.Sprintf("<td>%+.1f [%+.1f, ", got.Rows[0].Versus.Judge.Mean, got.Rows[0].Versus.Judge.Low)} {
		if !strings.Contains(html.UnescapeString(string(page)), want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

// On two conversations of LoCoMo, an unreliable model and a killed worker do not change what is paid for.
func TestAnEvaluationSurvivesAKilledWorker(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	path := samples.Public("locomo/locomo8.json")
	if path == "" {
		t.Skip("LoCoMo was NOT measured: the public data is missing")
	}
	data, err := evals.Open(evals.LoCoMo, path)
	testkit.Must(t, err)
	data.Samples = data.Samples[:2]
	var model *openaitest.Server
	b := apptest.OpenIdle(t, func(c *config.Config) { c.LLMSlots, c.Prices = 16, scriptedPrices })
	model = b.Model
	model.On(openaitest.Rule{ReplyFunc: skilled})
	endpoint := unreliable(t, model, 100*time.Millisecond)
	r := evaluation(b, data, "1/0/1", evals.None, evals.Static, evals.All, evals.Evolved,
		evals.EvolvedLearned)
	r.Limit, r.Judge, r.Parallel = 20, "scripted", 8
	r.Learning = evals.Learning{Stages: 2, Iterations: 1, Episodes: 1}
	r.Keeping.Mode, r.Keeping.Tokens = "fixed-length", 2048
	made, err := b.Evaluations.Accept(t.Context(), r)
	testkit.Must(t, err)
	worker := b.StartProcess("OPENAI_BASE_URL=" + endpoint)
	testkit.Must(t, model.Await(t.Context(), "recite", 12))
	worker.Kill()
	stored := repliesOf(b)
	b.StartProcess("OPENAI_BASE_URL=" + endpoint)
	got := evaluated(b, made.Ref, 5*time.Minute)
	if got.Outcome != run.Completed || got.Incomplete() != "" || len(got.Learned) != 1 {
		t.Fatalf("%s %s, incomplete: %q, learned %+v", got.Outcome, got.Note, got.Incomplete(), got.Learned)
	}
	for _, stage := range []string{"remember", "recite", "grade", "diagnose", "propose"} {
		if model.Count(stage) == 0 {
			t.Errorf("no request of stage %s", stage)
		}
	}
	for key, n := range paidByCall(model) {
		if n > 1 && stored[key] {
			t.Errorf("%s was paid %d times", key, n)
		}
	}
	estimate, real := float64(made.Manifest.Estimate.Calls), float64(got.Usage.Calls)
	t.Logf("estimated %.0f calls, made %.0f; cost %s, %.0f s", estimate, real, got.Usage.Cost(), got.Seconds)
	if estimate < .85*real || estimate > 1.15*real {
		t.Errorf("estimated %.0f calls, made %.0f", estimate, real)
	}
}

const scriptedPrices = `{"scripted": {"input_micros": 1000000, "output_micros": 2000000}}`

// repliesOf returns the calls with a stored reply, as run/step/round.
func repliesOf(b *apptest.Bundle) map[string]bool {
	b.T.Helper()
	out := map[string]bool{}
	for _, key := range column[string](b, `select run_id || '/' || step || '/' || round from cairn.llm_calls where `+
		`state = 'done'`) {
		out[key] = true
	}
	return out
}

// paidByCall counts the replies of the model by run/step/round.
func paidByCall(model *openaitest.Server) map[string]int {
	paid, out := model.Paid(), map[string]int{}
	seen := map[string]bool{}
	for _, c := range model.Requests() {
		if seen[c.Key()] {
			continue
		}
		seen[c.Key()] = true
		round := (len(c.Messages) - 2) / 2 // each repair adds the reply and its problem
		out[fmt.Sprintf("%s/%s/%d", c.Run, c.Task, round)] += paid[c.Key()]
	}
	return out
}

// A limit of cost stops an evaluation with the table so far, and a higher one lets it continue.
func TestAnEvaluationStopsAtItsLimitOfCost(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t, func(c *config.Config) { c.Prices = scriptedPrices })
	b.Model.On(openaitest.Rule{ReplyFunc: skilled})
	r := evaluation(b, sampleTalks(t), "0/0/1", evals.None, evals.Static)
	r.Parallel, r.MaxCost = 1, 40_000
	made, err := b.Evaluations.Accept(t.Context(), r)
	testkit.Must(t, err)
	got := evaluated(b, made.Ref, time.Minute)
	if got.Outcome != run.OverBudget || got.Incomplete() == "" || got.Usage.CostMicros < r.MaxCost {
		t.Fatalf("%s %s: %+v", got.Outcome, got.Note, got.Usage)
	}
	b.RecordEnded(made.WorkflowID, "Evaluate/over_budget")
	if got.Note == "" || !strings.Contains(got.Note, "0.04 $") {
		t.Errorf("note %q", got.Note)
	}
	before := b.Model.Count("")
	r.MaxCost = 0
	again, err := b.Evaluations.Accept(t.Context(), r)
	testkit.Must(t, err)
	if again.Ref != made.Ref || again.Attempt != 2 {
		t.Fatalf("%+v", again.Run)
	}
	whole := evaluated(b, made.Ref, 2*time.Minute)
	if whole.Outcome != run.Completed || whole.Incomplete() != "" || whole.Usage.Calls <= got.Usage.Calls {
		t.Errorf("%s, incomplete: %q, %+v", whole.Outcome, whole.Incomplete(), whole.Usage)
	}
	for key, n := range paidByCall(b.Model) {
		if n > 1 {
			t.Errorf("%s was paid %d times", key, n)
		}
	}
	if b.Model.Count("") == before {
		t.Error("nothing was asked after the limit was raised")
	}
}

// A bank that was trained elsewhere is measured as it is.
func TestAnEvaluationMeasuresABankOfTheWorkspace(t *testing.T) {
	t.Parallel()
	b := apptest.Open(t)
	b.Model.On(openaitest.Rule{ReplyFunc: skilled})
	head, err := b.Learning.Banks.Head(t.Context(), b.Workspace.ID, "default")
	testkit.Must(t, err)
	row := fmt.Sprintf("bank default@%d", head.Head)
	r := evaluation(b, sampleTalks(t), "0/0/1", evals.Static, row)
	r.Data.Samples, r.Split.Test, r.Limit = r.Data.Samples[:1], []string{"sample-1"}, 2
	r.Keeping.K = head.Bank.Len() // an untrained policy might not choose the skill that inserts
	made, err := b.Evaluations.Accept(t.Context(), r)
	testkit.Must(t, err)
	got := evaluated(b, made.Ref, time.Minute)
	if got.Outcome != run.Completed || got.Rows[1].Skills != head.Bank.Len() || got.Rows[1].Memories == 0 {
		t.Errorf("%+v", got.Rows)
	}
	// The evaluation has left no trace in the workspace of the bank.
	b.Within(func(ctx context.Context, q store.Tx) error {
		runs, err := q.Runs().Runs(ctx, 10)
		if len(runs) != 0 {
			t.Errorf("%d runs in the workspace", len(runs))
		}
		return err
	})
	if _, err := b.Evaluations.Plan(t.Context(), evaluation(b, sampleTalks(t), "0/0/1", "bank default@9")); err == nil {
		t.Error("a version that does not exist is measured")
	}
}
