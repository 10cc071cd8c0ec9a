package llmtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// post asks for a chat completion and gives the status and the body; status 0
// means that no whole answer came.
func post(ctx context.Context, s *Server, stage, message string) (int, string) {
	body, _ := json.Marshal(map[string]any{"model": "m", "messages": []any{map[string]any{"role": "user", "content": message}}})
	return do(ctx, http.MethodPost, s.URL+"/chat/completions", stage, body)
}

func do(ctx context.Context, method, url, stage string, body []byte) (int, string) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("X-Skill-Stage", stage)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(answer)
}

// content is the text of a chat completion.
func content(t *testing.T, answer string) string {
	t.Helper()
	var completion struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
		} `json:"choices"`
	}
	if err := json.Unmarshal([]byte(answer), &completion); err != nil || len(completion.Choices) != 1 {
		t.Fatalf("not a completion: %s", answer)
	}
	return completion.Choices[0].Message.Content
}

func TestRulesAreChosenByLabelTextAndOccurrence(t *testing.T) {
	t.Parallel()
	srv := New(t)
	srv.On(Rule{Stage: "extract", Match: `refund \d+`, Reply: "by text"})
	srv.On(Rule{Stage: "extract", Times: 1, Reply: "once"})
	srv.On(Rule{Stage: "extract", Reply: "first added"})
	srv.On(Rule{Stage: "extract", Reply: "never"})
	srv.On(Rule{Stage: "extract", Nth: 4, Reply: "fourth"})
	srv.On(Rule{Stage: "judge", ReplyFunc: func(call Call) string { return call.Stage + " " + call.Last }})
	for i, step := range []struct{ stage, message, want string }{
		{"extract", "refund 12", "by text"},
		{"extract", "x", "once"},
		{"extract", "x", "first added"},
		{"extract", "x", "fourth"},
		{"extract", "x", "first added"},
		{"judge", "退款", "judge 退款"},
	} {
		if _, answer := post(t.Context(), srv, step.stage, step.message); content(t, answer) != step.want {
			t.Errorf("request %d: got %s, want %s", i, answer, step.want)
		}
	}
}

// recorder is a testing.TB that keeps its failures to itself.
type recorder struct {
	testing.TB
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func TestAnUnmatchedRequestFailsTheTest(t *testing.T) {
	t.Parallel()
	inner := &recorder{TB: t}
	srv := New(inner)
	srv.On(Rule{Stage: "extract", Reply: "ok"})
	if status, _ := post(t.Context(), srv, "extract", "x"); status != 200 {
		t.Errorf("matched: got %d", status)
	}
	if status, _ := post(t.Context(), srv, "other", "surprise"); status != statusUnmatched {
		t.Errorf("unmatched: got %d", status)
	}
	if calls := srv.Requests(); len(calls) != 2 || !calls[1].Unknown || calls[0].Unknown {
		t.Errorf("recorded %+v", calls)
	}
	for _, cleanup := range inner.cleanups {
		cleanup()
	}
	if len(inner.failures) != 1 || !strings.Contains(inner.failures[0], "surprise") {
		t.Errorf("the test failed with %q, want one failure that names the request", inner.failures)
	}
}

func TestPaidCountsCompleteRepliesOnly(t *testing.T) {
	t.Parallel()
	srv := New(t)
	srv.On(Rule{Stage: "twice", Reply: "ok"})
	srv.On(Rule{Stage: "status", Status: 503})
	srv.On(Rule{Stage: "drop", Drop: true})
	srv.On(Rule{Stage: "half", DropAfter: true, Reply: "a reply that is cut in the middle"})
	srv.On(Rule{Stage: "hang", Barrier: "gate"})
	for _, stage := range []string{"twice", "twice", "status", "drop", "half"} {
		post(t.Context(), srv, stage, "x")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() { post(ctx, srv, "hang", "x") })
	if err := srv.AwaitBarrier(t.Context(), "gate", 1); err != nil {
		t.Fatal(err)
	}
	cancel() // the client is gone before the reply
	waiting.Wait()
	paid := srv.Paid()
	if len(paid) != 1 || paid[srv.Requests()[0].Key()] != 2 {
		t.Fatalf("got %v, want the stage \"twice\" paid twice and nothing else", paid)
	}
}

func TestFaultsLookLikeFaults(t *testing.T) {
	t.Parallel()
	srv := New(t)
	srv.On(Rule{Stage: "status", Status: 429, RetryAfter: "3", Reply: "slow down"})
	srv.On(Rule{Stage: "body", Status: 400, Reply: `{"error":{"code":"context_length_exceeded"}}`})
	srv.On(Rule{Stage: "malformed", Malformed: true})
	srv.On(Rule{Stage: "drop", Drop: true})
	srv.On(Rule{Stage: "half", DropAfter: true, Reply: "text"})
	for stage, want := range map[string]struct {
		status int
		says   string
		valid  bool
	}{
		"status": {429, "slow down", true}, "body": {400, "context_length_exceeded", true}, "malformed": {200, "choices", false},
		"drop": {0, "EOF", false}, "half": {0, "unexpected EOF", false},
	} {
		status, answer := post(t.Context(), srv, stage, "x")
		if status != want.status || !strings.Contains(answer, want.says) || json.Valid([]byte(answer)) != want.valid {
			t.Errorf("%s: got %d %s", stage, status, answer)
		}
	}
}

func TestBarriersHoldUntilReleased(t *testing.T) {
	t.Parallel()
	srv := New(t)
	srv.On(Rule{Barrier: "both", Reply: "ok"})
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			if status, answer := post(t.Context(), srv, "merge", "x"); status != 200 {
				t.Errorf("got %d %s", status, answer)
			}
		})
	}
	if err := srv.AwaitBarrier(t.Context(), "both", 2); err != nil {
		t.Fatal(err)
	}
	if len(srv.Paid()) != 0 {
		t.Error("a reply went out before the release")
	}
	if status, answer := do(t.Context(), http.MethodPost, srv.Root+"/barrier/both/release", "", nil); status != http.StatusNoContent {
		t.Fatalf("release: got %d %s", status, answer)
	}
	group.Wait()
	post(t.Context(), srv, "late", "x") // a released barrier stays open
	if srv.Count("") != 3 || srv.Count("merge") != 2 {
		t.Errorf("counted %d and %d, want 3 and 2", srv.Count(""), srv.Count("merge"))
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	srv := New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := srv.Await(ctx, "extract", 1); err == nil || !strings.Contains(err.Error(), "extract") {
		t.Errorf("got %v", err)
	}
	srv.On(Rule{Reply: "ok"})
	go post(t.Context(), srv, "extract", "x")
	if err := srv.Await(t.Context(), "extract", 1); err != nil {
		t.Error(err)
	}
}

func TestStreamedRepliesAddUp(t *testing.T) {
	t.Parallel()
	srv := New(t)
	text := strings.Repeat("退款 in steps, ", 20)
	srv.On(Rule{Reply: text})
	body := []byte(`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}`)
	_, answer := do(t.Context(), http.MethodPost, srv.URL+"/chat/completions", "", body)
	events := strings.Split(strings.TrimSpace(answer), "\n\n")
	if last := events[len(events)-1]; last != "data: [DONE]" {
		t.Fatalf("the stream ends with %q", last)
	}
	var got, finish strings.Builder
	usage := 0
	for _, event := range events[:len(events)-1] {
		var chunk struct {
			Choices []struct {
				Delta  struct{ Content string }
				Finish string `json:"finish_reason"`
			}
			Usage struct {
				Total int `json:"total_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(event, "data: ")), &chunk); err != nil {
			t.Fatal(err)
		}
		usage += chunk.Usage.Total
		for _, choice := range chunk.Choices {
			got.WriteString(choice.Delta.Content)
			finish.WriteString(choice.Finish)
		}
	}
	if got.String() != text || finish.String() != "stop" || usage == 0 {
		t.Errorf("got %q, finish %q, usage %d", got.String(), finish.String(), usage)
	}
}

func TestOtherProgramsCanSteerTheServer(t *testing.T) {
	t.Parallel()
	srv := New(t)
	srv.On(Rule{Reply: "old"})
	script, err := json.Marshal(Script{Rules: []Rule{{Stage: "extract", Delay: time.Millisecond, Reply: "new"}}, Dims: 8})
	if err != nil || !strings.Contains(string(script), `"delay":"1ms"`) {
		t.Fatalf("%s, %v", script, err)
	}
	if status, answer := do(t.Context(), http.MethodPut, srv.Root+"/script", "", script); status != http.StatusNoContent {
		t.Fatalf("got %d %s", status, answer)
	}
	if _, answer := post(t.Context(), srv, "extract", "x"); content(t, answer) != "new" {
		t.Errorf("got %s", answer)
	}
	for _, bad := range []string{`{`, `{"rules":[{"match":"("}]}`, `{"rules":[{"delay":"soon"}]}`} {
		if status, _ := do(t.Context(), http.MethodPut, srv.Root+"/script", "", []byte(bad)); status != http.StatusBadRequest {
			t.Errorf("%s: got %d", bad, status)
		}
	}
	_, recorded := do(t.Context(), http.MethodGet, srv.Root+"/requests", "", nil)
	var calls []Call
	if err := json.Unmarshal([]byte(recorded), &calls); err != nil || len(calls) != 1 || calls[0].Key() != srv.Requests()[0].Key() {
		t.Errorf("requests: %s, %v", recorded, err)
	}
	_, paid := do(t.Context(), http.MethodGet, srv.Root+"/paid", "", nil)
	if paid != fmt.Sprintf(`{"%s":1}`, calls[0].Key()) {
		t.Errorf("paid: %s", paid)
	}
	if status, models := do(t.Context(), http.MethodGet, srv.URL+"/models", "", nil); status != 200 || !strings.Contains(models, `"id":"scripted"`) {
		t.Errorf("models: %d %s", status, models)
	}
}

func TestHundredsOfDelayedRepliesOverlap(t *testing.T) {
	t.Parallel()
	const requests, delay = 300, 20 * time.Millisecond
	srv := New(t)
	for i := range 50 { // rules must stay cheap
		srv.On(Rule{Stage: "extract", Task: fmt.Sprint("task-", i), Reply: "no"})
	}
	srv.On(Rule{Delay: delay, Reply: "ok"})
	start := time.Now()
	var group sync.WaitGroup
	for i := range requests {
		group.Go(func() { post(t.Context(), srv, "extract", fmt.Sprint(i)) })
	}
	group.Wait()
	// One after the other they would take 6 s.
	if took := time.Since(start); took > requests*delay/2 || len(srv.Paid()) != requests {
		t.Errorf("%d replies in %s", len(srv.Paid()), took)
	}
}

func TestEmbeddingsAreStableAndCanBeWrong(t *testing.T) {
	t.Parallel()
	srv := New(t)
	srv.On(Rule{Reply: "for chat only"})
	embed := func(body string) [][]float32 {
		t.Helper()
		status, answer := do(t.Context(), http.MethodPost, srv.URL+"/embeddings", "", []byte(body))
		var response struct {
			Data []struct{ Embedding []float32 }
		}
		if err := json.Unmarshal([]byte(answer), &response); status != 200 || err != nil {
			t.Fatalf("%d %s, %v", status, answer, err)
		}
		var vectors [][]float32
		for _, item := range response.Data {
			vectors = append(vectors, item.Embedding)
		}
		return vectors
	}
	vectors := embed(`{"model":"e","input":["Roll back, r41!","back ROLL r41","退款"]}`)
	if len(vectors) != 3 || len(vectors[0]) != DefaultDims || !slices.Equal(vectors[0], vectors[1]) || slices.Equal(vectors[0], vectors[2]) {
		t.Errorf("got %v", vectors)
	}
	if vectors := embed(`{"model":"e","input":"one","dimensions":16}`); len(vectors) != 1 || len(vectors[0]) != 16 {
		t.Errorf("asked for 16 numbers: got %v", vectors)
	}
	srv.Dims(8)
	srv.WrongDimension(true)
	if vectors := embed(`{"model":"e","input":"one"}`); len(vectors[0]) != 9 {
		t.Errorf("wrong-dimension mode: got %d numbers, want 9", len(vectors[0]))
	}
	if status, _ := do(t.Context(), http.MethodPost, srv.URL+"/embeddings", "", []byte(`{"input":[]}`)); status != http.StatusBadRequest {
		t.Errorf("no input: got %d", status)
	}
	srv.On(Rule{Stage: "embed", Status: 500})
	if status, _ := do(t.Context(), http.MethodPost, srv.URL+"/embeddings", "", []byte(`{"input":"x"}`)); status != 500 {
		t.Errorf("scripted failure: got %d", status)
	}
	if len(srv.Paid()) != 0 {
		t.Error("embeddings are counted as paid chat calls")
	}
}
