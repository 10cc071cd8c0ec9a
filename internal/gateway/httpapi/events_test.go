package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/distill"
	"cairn/internal/testkit"
)

type sent struct {
	id, name string
	data     string
	progress distillation.Progress // of any but the last
	report   distill.Report        // of the last
}

// watch reads a run's events until the stream closes; see receives each event.
func (b *bundle) watch(path, last string, see func(sent)) (status int) {
	b.T.Helper()
	req, err := http.NewRequestWithContext(b.T.Context(), http.MethodGet, b.url+path, nil)
	testkit.Must(b.T, err)
	req.Header.Set("Authorization", "Bearer "+b.key)
	req.Header.Set("Last-Event-ID", last)
	res, err := http.DefaultClient.Do(req)
	testkit.Must(b.T, err)
	defer res.Body.Close()
	testkit.Must(b.T, events(res.Body, func(e sent) {
		if e.name == "end" {
			testkit.Must(b.T, json.Unmarshal([]byte(e.data), &e.report))
		} else {
			testkit.Must(b.T, json.Unmarshal([]byte(e.data), &e.progress))
		}
		see(e)
	}))
	return res.StatusCode
}

// events reads a stream until it closes.
func events(from io.Reader, see func(sent)) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	var e sent
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
			see(e)
			e = sent{}
		}
	}
	return lines.Err()
}

func TestARunIsWatchedUntilItsEnd(t *testing.T) {
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "extract", Barrier: "hold", Reply: apptest.R1Extract})
	b.ScriptR1()
	var a httpapi.AcceptedRequest
	b.post("/v1/distill", sampleConversation()).into(http.StatusAccepted, &a)
	var events []sent
	status := b.watch("/v1/runs/"+a.Run+"/events", "", func(e sent) {
		events = append(events, e)
		if len(e.progress.Tasks) == 1 { // the run waits in the extraction until then
			b.Model.Release("hold")
		}
	})
	end := events[len(events)-1]
	if status != http.StatusOK || len(events) < 2 || end.name != "end" || end.report.Outcome != run.Completed ||
		end.report.Tasks[0].SkillID == 0 {
		t.Fatalf("status %d, %d events, the last %+v", status, len(events), end)
	}
	for i, e := range events[:len(events)-1] {
		if e.name != "progress" || e.id == "" || e.id == events[i+1].id || e.data == events[i+1].data ||
			e.progress.Run != a.Run || strings.Contains(e.data, "messages") {
			t.Errorf("event %d is %q, id %q: %s", i, e.name, e.id, e.data)
		}
	}
	if p := events[len(events)-2].progress; len(p.Tasks) != 1 || p.Tasks[0].Key != end.report.Tasks[0].Key ||
		p.Tasks[0].Name == "" || p.Tasks[0].Stage == "" || p.Calls == 0 {
		t.Errorf("before the end: %+v", p)
	}
	// A broken stream resumes; after the end there is no content.
	var rest []sent
	b.watch("/v1/runs/"+a.Run+"/events", events[0].id, func(e sent) { rest = append(rest, e) })
	if len(rest) != 1 || rest[0].id != end.id {
		t.Errorf("after the first event: %+v", rest)
	}
	if status := b.watch("/v1/runs/"+a.Run+"/events", end.id, func(e sent) {
		t.Errorf("after the end: %+v", e)
	}); status != http.StatusNoContent {
		t.Errorf("after the end: status %d", status)
	}
	b.get("/v1/runs/" + noRun + "/events").refused(fault.NotFound)
}

func TestAStreamIsToldThatTheGatewayStops(t *testing.T) {
	t.Parallel()
	b := idle(t) // nothing drives the run
	var a httpapi.AcceptedRequest
	b.post("/v1/distill", sampleConversation()).into(http.StatusAccepted, &a)
	ctx, stop := context.WithCancel(t.Context())
	served := b.serve(ctx)
	var names []string
	b.watch("/v1/runs/"+a.Run+"/events", "", func(e sent) {
		names = append(names, e.name)
		stop()
	})
	if strings.Join(names, " ") != "progress stopping" {
		t.Errorf("events %v", names)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
