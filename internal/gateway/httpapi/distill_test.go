package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/fakes/openaitest"
)

func TestDistillAnswersAtOnceAndReportsWhenAskedToWait(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config.Config) {
		c.PublicBaseURL, c.TemporalUI = "https://cairn.example", "http://ui.example"
	})
	res := b.post("/v1/distill", sampleConversation())
	var a httpapi.AcceptedRequest
	res.into(http.StatusAccepted, &a)
	if a.Run == "" || !a.New || a.WorkflowID == "" || a.Links.Self != "https://cairn.example/v1/runs/"+a.Run ||
		res.header.Get("Location") != a.Links.Self ||
		!strings.HasPrefix(a.Links.Temporal, "http://ui.example/namespaces/") {
		t.Errorf("accepted %+v", a)
	}
	var again httpapi.AcceptedRequest
	b.post("/v1/distill?wait=60", sampleConversation()).into(http.StatusOK, &again)
	if again.Run != a.Run || again.New || again.Report == nil || again.Report.Outcome != run.Completed {
		t.Fatalf("the same content is %+v, report %+v", again, again.Report)
	}
	task := again.Report.Tasks[0]
	if task.Package != "https://cairn.example/v1/skills/1/versions/1/package" ||
		strings.Contains(task.SkillMD, b.Packages) {
		t.Errorf("the report names places on the server: %s, %s", task.Package, task.SkillMD)
	}

	var runs httpapi.RunList
	b.get("/v1/runs?limit=5").into(http.StatusOK, &runs)
	if len(runs.Runs) != 1 || runs.Runs[0].Run != a.Run ||
		!strings.HasPrefix(runs.Runs[0].Title, "Checkout API returns 502") {
		t.Errorf("runs %+v", runs.Runs)
	}
	var detail httpapi.RunDetail
	b.get("/v1/runs/"+a.Run).into(http.StatusOK, &detail)
	if detail.Outcome != run.Completed || len(detail.ModelCalls) != 3 || detail.Usage.Keys != 3 {
		t.Errorf("run %+v with calls %+v", detail.Report, detail.ModelCalls)
	}
	var retried httpapi.AcceptedRequest
	b.post("/v1/runs/"+a.Run+"/retry?wait=60", nil).into(http.StatusOK, &retried)
	if retried.Run != a.Run || retried.Report.Outcome != run.Completed {
		t.Errorf("retry %+v", retried)
	}
	b.post("/v1/runs/"+a.Run+"/retry?fresh=true", nil).into(http.StatusAccepted, &retried)
	if retried.Run == a.Run || !retried.New {
		t.Errorf("a fresh retry is %+v", retried)
	}
	b.post("/v1/runs/"+noRun+"/retry", nil).refused(fault.NotFound)
}

func TestTheSameIdempotencyKeyIsTheSameRun(t *testing.T) {
	t.Parallel()
	b := idle(t)
	send := func(key string, body any) response {
		return b.do(request{method: http.MethodPost, path: "/v1/distill", body: body,
			header: map[string]string{"Idempotency-Key": key}})
	}
	var first, second, other httpapi.AcceptedRequest
	send("one", sampleConversation()).into(http.StatusAccepted, &first)
	send("one", sampleConversation()).into(http.StatusAccepted, &second)
	send("two", sampleConversation()).into(http.StatusAccepted, &other)
	if first.Run != second.Run || first.Run == other.Run || !first.New || second.New {
		t.Errorf("runs %s, %s and %s", first.Run, second.Run, other.Run)
	}
	send("one", `[{"role":"user","content":"something else"}]`).refused(fault.OpReused)
	b.do(request{method: http.MethodPost, path: "/v1/distill?request_id=three", body: sampleConversation(),
		header: map[string]string{"Idempotency-Key": "one"}}).refused(fault.InvalidArgument)
	var byOption httpapi.AcceptedRequest
	body := sampleConversation()
	body["request_id"] = "one"
	b.post("/v1/distill", body).into(http.StatusAccepted, &byOption)
	if byOption.Run != first.Run {
		t.Errorf("request_id in the body is run %s", byOption.Run)
	}
	// No worker runs, so the waits end by timeout with open runs.
	b.post("/v1/distill?wait=1&request_id=one", sampleConversation()).into(http.StatusAccepted, &byOption)
	if byOption.Status != run.Accepted || byOption.Report != nil {
		t.Errorf("after the wait %+v", byOption)
	}
}

func TestDistillTakesEveryFormOfConversation(t *testing.T) {
	t.Parallel()
	b := idle(t)
	for name, c := range map[string]struct{ kind, body string }{
		"array": {"application/json", `[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`},
		"options": {"application/json", `{"messages":[{"role":"user","content":"c"}],"mode":"simple",` +
			`"extract":"always","title":"t"}`},
		"lines": {"application/x-ndjson",
			"{\"role\":\"user\",\"content\":\"d\"}\n{\"role\":\"assistant\",\"content\":\"e\"}\n"},
		"text":      {"text/plain", "user: f\nassistant: g\n"},
		"tau-bench": {"application/json", `{"task_id":1,"trial":0,"reward":1,"traj":[{"role":"user","content":"h"}]}`},
		"untyped":   {"", `[{"role":"user","content":"i"}]`},
		"anthropic": {"application/json", `{"messages":[{"role":"user","content":"j"},{"role":"assistant","content":` +
			`[{"type":"tool_use","id":"t1","name":"f","input":{}}]}]}`},
	} {
		res := b.do(request{method: http.MethodPost, path: "/v1/distill", body: c.body,
			header: map[string]string{"Content-Type": c.kind}})
		if res.status != http.StatusAccepted {
			t.Errorf("%s: status %d: %s", name, res.status, res.body)
		}
		if name == "anthropic" && !strings.Contains(string(res.body), `"format":"anthropic"`) {
			t.Errorf("%s: no report of the import: %s", name, res.body)
		}
	}
	for name, c := range map[string]struct{ body, says string }{
		"broken":       {`[{"role":"user","content":"hi"`, "body:1:31"},
		"empty":        {``, "required"},
		"no messages":  {`{"messages":[]}`, "no messages"},
		"wrong role":   {`[{"role":"robot","content":"hi"}]`, "robot"},
		"wrong option": {`{"messages":[{"role":"user","content":"hi"}],"mode":"fast"}`, "mode"},
		"wrong type":   {`{"messages":[{"role":"user","content":"hi"}],"fresh":"yes"}`, "fresh"},
		"too long":     {`{"messages":[{"role":"user","content":"hi"}],"give_up":90000}`, "give_up"},
		"two at once": {`[{"messages":[{"role":"user","content":"a"}]},{"messages":[{"role":"user","content":"b"}]}]`,
			"2 conversations"},
	} {
		if p := b.post("/v1/distill", c.body).refused(fault.InvalidArgument); !strings.Contains(p.Message, c.says) {
			t.Errorf("%s: says %q", name, p.Message)
		}
	}
}

func TestADistillationGivesUpOnAnEndpointAfterTheGivenTime(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Model.On(openaitest.Rule{Stage: "segment", Status: http.StatusServiceUnavailable, Reply: "busy"})
	b.Start()
	var a httpapi.AcceptedRequest
	b.post("/v1/distill?wait=60&give_up=2", sampleConversation()).into(http.StatusOK, &a)
	if a.Report == nil || a.Report.Outcome != run.Failed || a.Report.Reason == "" {
		t.Errorf("ended as %+v", a.Report)
	}
	b.post("/v1/distill?give_up=0", sampleConversation()).refused(fault.InvalidArgument)
}
