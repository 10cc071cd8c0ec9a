package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/conversation"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/run"
	"cairn/internal/gateway/edge"
	"cairn/internal/gateway/httpapi"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/service/memoryagent"
	"cairn/internal/testkit"
)

// streams sends a request with stream set; see receives each event.
func (b *bundle) streams(ctx context.Context, path string, body object, see func(sent)) (*http.Response, error) {
	b.T.Helper()
	body["stream"] = true
	raw, err := json.Marshal(body)
	testkit.Must(b.T, err)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url+path, bytes.NewReader(raw))
	testkit.Must(b.T, err)
	req.Header.Set("Authorization", "Bearer "+b.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	testkit.Must(b.T, err)
	defer res.Body.Close()
	if got := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || got != "text/event-stream" {
		b.T.Fatalf("status %d of type %q", res.StatusCode, got)
	}
	return res, events(res.Body, see)
}

// streamed returns all events of the response to a request.
func (b *bundle) streamed(path string, body object, see ...func(sent)) (all []sent, end sent) {
	b.T.Helper()
	_, err := b.streams(b.T.Context(), path, body, func(e sent) {
		all = append(all, e)
		for _, f := range see {
			f(e)
		}
	})
	testkit.Must(b.T, err)
	if len(all) == 0 {
		b.T.Fatal("no events")
	}
	return all, all[len(all)-1]
}

func names(all []sent) (out []string) {
	for _, e := range all {
		out = append(out, e.name)
	}
	return out
}

// same compares JSON and ignores white space.
func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	var a, b any
	testkit.Must(t, json.Unmarshal(got, &a))
	testkit.Must(t, json.Unmarshal(want, &b))
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if !bytes.Equal(x, y) {
		t.Errorf("%s:\n%s\nand plainly\n%s", what, x, y)
	}
}

// A stream reports the progress of the agents and ends with the plain response.
func TestAgentsOfLongTermMemoryAreStreamed(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "summarize", Times: 1, Barrier: "summary",
		Calls: calls("add_meta_memory", object{
			"meta_memories": []object{{"memory_type": "personal", "memory_target": "alice"}}})})
	b.Model.On(openaitest.Rule{Stage: "retrieve", Times: 1, Barrier: "question", Reply: "From Osaka."})
	b.scriptAlice()
	release := func(barrier string) func(sent) {
		return func(e sent) {
			var p conversation.Progress
			testkit.Must(t, json.Unmarshal([]byte(e.data), &p))
			if e.name == "progress" && p.Run != "" { // the first response waits until then
				b.Model.Release(barrier)
			}
		}
	}
	session := object{"messages": flying, "request_id": "s1"}
	all, end := b.streamed("/v1/summary_memory", session, release("summary"))
	if len(all) < 2 || end.name != "end" ||
		slices.ContainsFunc(all[:len(all)-1], func(e sent) bool { return e.name != "progress" || e.id == "" }) {
		t.Fatalf("events %v", names(all))
	}
	delete(session, "stream")
	same(t, "the end of a session", []byte(end.data), b.post("/v1/summary_memory", session).body)
	var made httpapi.MemoryRequest
	if testkit.Must(t, json.Unmarshal([]byte(end.data), &made)); !made.Success || made.State != run.Ended ||
		len(made.Summary.Tasks) != 1 {
		t.Errorf("made %+v", made)
	}
	all, end = b.streamed("/v1/summary_memory", session) // which has ended
	if len(all) != 1 || end.name != "end" {
		t.Errorf("once more: %v", names(all))
	}

	asked := object{"query": "Where does Alice fly from?", "mode": "agentic", "request_id": "q1",
		"metadata": object{"channel": "web"}}
	all, end = b.streamed("/v1/retrieve_memory", asked, release("question"))
	if len(all) < 2 || end.name != "end" || all[0].name != "progress" {
		t.Fatalf("events %v", names(all))
	}
	delete(asked, "stream")
	same(t, "the end of a question", []byte(end.data), b.post("/v1/retrieve_memory", asked).body)
	var answer httpapi.MemoryAnswer
	if testkit.Must(t, json.Unmarshal([]byte(end.data), &answer)); answer.Mode != memoryagent.Agentic ||
		answer.Answer != "From Osaka." || answer.Metadata["channel"] != "web" {
		t.Errorf("answer %+v", answer)
	}
	// A search without an agent responds at once.
	fast := object{"query": "Where does Alice fly from?", "mode": "fast"}
	all, end = b.streamed("/v1/retrieve_memory", fast)
	var found httpapi.MemoryAnswer // scores depend on the time
	if testkit.Must(t, json.Unmarshal([]byte(end.data), &found)); len(all) != 1 || end.name != "end" ||
		found.Mode != memoryagent.Fast || len(found.Memories) == 0 ||
		found.Memories[0].Content != "Alice flies from Osaka only." {
		t.Errorf("a search: %v, %+v", names(all), found)
	}
}

// A disconnect does not stop the run, and after its wait a caller gets the progress.
func TestARunGoesOnWithoutItsStream(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := idle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "summarize", Times: 1, Barrier: "hold",
		Calls: calls("add_meta_memory", object{
			"meta_memories": []object{{"memory_type": "personal", "memory_target": "alice"}}})})
	b.scriptAlice()
	ctx, leave := context.WithCancel(t.Context())
	_, err := b.streams(ctx, "/v1/summary_memory", object{"messages": flying, "request_id": "s1"}, func(sent) {
		leave()
	})
	if err == nil {
		t.Error("the stream went on to its end")
	}
	// the same run, which still waits for its model
	all, end := b.streamed("/v1/summary_memory", object{"messages": flying, "request_id": "s1", "wait": 1})
	var made httpapi.MemoryRequest
	if testkit.Must(t, json.Unmarshal([]byte(end.data), &made)); end.name != "end" || made.State == run.Ended ||
		made.Success {
		t.Errorf("after a second: %v, %+v", names(all), made)
	}
	b.Model.Release("hold")
	b.streamed("/v1/summary_memory", object{"messages": flying, "request_id": "s1"}) // to its end
	b.get("/v1/requests/s1").into(http.StatusOK, &made)
	if !made.Success || made.Answer != "Alice is up to date." || len(made.Summary.Tasks) != 1 {
		t.Errorf("made %+v", made)
	}
	for request, times := range b.Model.Paid() {
		if times != 1 {
			t.Errorf("%s was paid %d times", request, times)
		}
	}
}

// An invalid request is a plain error; a later failure is an event.
func TestAStreamSaysWhatWentWrong(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := idle(t) // nothing drives the runs
	b.remembers("personal", "alice", "Alice flies from Osaka only.")
	b.post("/v1/summary_memory", object{"stream": true}).refused(fault.InvalidArgument)
	b.post("/v1/retrieve_memory", object{"stream": true, "query": " "}).refused(fault.InvalidArgument)
	b.post("/v1/retrieve_memory", object{"stream": true, "query": "a", "mode": "agentic", "wait": 0,
		"request_id": "q"}).into(http.StatusOK, nil)
	b.post("/v1/retrieve_memory", object{"stream": true, "query": "b", "mode": "agentic", "request_id": "q"}).
		refused(fault.OpReused)
	all, end := b.streamed("/v1/summary_memory", object{"messages": flying}, func(sent) {
		b.admin("update cairn.workspaces set state = 'erasing' where id = $1", b.Workspace.ID)
	})
	var p edge.Problem
	testkit.Must(t, json.Unmarshal([]byte(end.data), &p))
	if strings.Join(names(all), " ") != "progress error" || p.Code != fault.Erasing || p.Message == "" || p.Hint == "" {
		t.Errorf("%v: %s", names(all), end.data)
	}
}

func TestAStreamOfARequestIsToldThatTheGatewayStops(t *testing.T) {
	t.Parallel()
	b := idle(t) // nothing drives the run
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	served := b.serve(ctx)
	all, _ := b.streamed("/v1/summary_memory", object{"messages": flying}, func(sent) { stop() })
	if strings.Join(names(all), " ") != "progress stopping" {
		t.Errorf("events %v", names(all))
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
