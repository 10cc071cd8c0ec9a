package openai_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/adapter/openai"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
)

var (
	schema = &llm.Schema{Name: "task", JSON: json.RawMessage(
		`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`)}
	request = llm.Request{
		Model: "scripted", System: "Name the <task>.", MaxTokens: 50,
		Messages: []llm.Message{{Role: llm.RoleUser, Content: "{\"messages\":[\"退款 & \u2028 more\"]}"},
			{Role: llm.RoleAssistant, Content: "oops"}, {Role: llm.RoleUser, Content: "again"}},
		Schema: schema, Label: llm.Label{Stage: "extract", Run: "r-1", Task: "退款 task", File: "a.py"},
	}
)

func prepare(t *testing.T, model llm.Model, r llm.Request) llm.PreparedRequest {
	t.Helper()
	prepared, err := model.Prepare(r)
	if err != nil {
		t.Fatal(err)
	}
	return prepared
}

func TestSendPostsThePreparedBytesOnceWithItsLabel(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Stage: "extract", Run: "r-1", Task: "退款 task", File: "a.py", Reply: `{"name":"x"}`,
		Usage: &llm.Usage{Input: 7, Output: 3}})
	model := openai.New(openai.Config{BaseURL: srv.URL, APIKey: "sk-test"})
	prepared := prepare(t, model, request)

	stored, err := json.Marshal(prepared) // the ledger keeps it, another process sends it
	if err != nil {
		t.Fatal(err)
	}
	var restored llm.PreparedRequest
	if err := json.Unmarshal(stored, &restored); err != nil {
		t.Fatal(err)
	}
	reply, err := model.Send(t.Context(), restored)
	if err != nil {
		t.Fatal(err)
	}
	calls := srv.Requests()
	if len(calls) != 1 || !bytes.Equal(calls[0].Body, prepared.Body) {
		t.Fatalf("sent %d requests, the first %s\nwant one, %s", len(calls), calls[0].Body, prepared.Body)
	}
	want := llm.Reply{Text: `{"name":"x"}`, Finish: "stop", Model: "scripted", Usage: llm.Usage{Input: 7, Output: 3}}
	if !reflect.DeepEqual(reply, want) {
		t.Fatalf("got %+v, want %+v", reply, want)
	}
}

func TestPrepareRendersDeterministicBytes(t *testing.T) {
	t.Parallel()
	const messages = `"messages":[{"content":"Name the \u003ctask\u003e.","role":"system"},` +
		`{"content":"{\"messages\":[\"退款 \u0026 \u2028 ` +
		`more\"]}","role":"user"},{"content":"oops","role":"assistant"},{"content":"again","role":"user"}],` +
		`"model":"scripted",`
	format := func(strict string) string {
		return `"response_format":{"json_schema":{"name":"task","strict":` + strict + `,"schema":` +
			string(schema.JSON) + `},"type":"json_schema"}}`
	}
	loose := request
	loose.Schema = &llm.Schema{Name: "task", JSON: json.RawMessage(`{"type":"object","properties":{}}`)}
	for name, test := range map[string]struct {
		config  openai.Config
		request llm.Request
		want    string
	}{
		"compatible server": {openai.Config{BaseURL: "http://localhost/v1"}, request,
			`{` + messages + `"max_tokens":50,` + format("true")},
		"openai": {openai.Config{}, request,
			`{` + messages + `"max_completion_tokens":50,` + format("true")},
		"no strict mode for a loose schema": {openai.Config{}, loose, `{` + messages + `"max_completion_tokens":50,` +
			strings.Replace(format("false"), string(schema.JSON), string(loose.Schema.JSON), 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 3 {
				if got := prepare(t, openai.New(test.config), test.request).Body; string(got) != test.want {
					t.Fatalf("got  %s\nwant %s", got, test.want)
				}
			}
		})
	}
}

func TestSchemaTravelsAsTextWhereItMust(t *testing.T) {
	t.Parallel()
	for mode, format := range map[string]string{openai.StructuredNone: "",
		openai.StructuredObject: `"response_format":{"type":"json_object"}`} {
		for system, sentence := range map[string]string{"Name it.": "Reply with one JSON value", "请给任务命名。": "只回复一个"} {
			r := request
			r.System = system
			body := string(prepare(t, openai.New(openai.Config{Structured: mode}), r).Body)
			if strings.Contains(body, "response_format") != (format != "") || !strings.Contains(body, format) ||
				!strings.Contains(body, sentence) || !strings.Contains(body, `\"additionalProperties\":false`) {
				t.Errorf("mode %s, system %q: %s", mode, system, body)
			}
		}
	}
	if same := llm.WithoutSchema(llm.Request{System: "s"}); same.System != "s" {
		t.Errorf("a request without schema changed to %+v", same)
	}
}

func TestPrepareRefusesWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config openai.Config
		change func(*llm.Request)
		want   fault.Code
	}{
		"no model": {openai.Config{}, func(r *llm.Request) { r.Model = "" }, fault.Misconfigured},
		"role": {openai.Config{}, func(r *llm.Request) {
			r.Messages = []llm.Message{{Role: "oracle"}}
		}, fault.InvalidArgument},
		"no messages": {openai.Config{}, func(r *llm.Request) {
			*r = llm.Request{Model: "m"}
		}, fault.InvalidArgument},
		"broken schema": {openai.Config{}, func(r *llm.Request) {
			r.Schema = &llm.Schema{JSON: json.RawMessage("{")}
		}, fault.InvalidArgument},
		"structured":     {openai.Config{Structured: "yaml"}, func(*llm.Request) {}, fault.Misconfigured},
		"base URL":       {openai.Config{BaseURL: "localhost:1234"}, func(*llm.Request) {}, fault.Misconfigured},
		"negative limit": {openai.Config{Timeout: -1}, func(*llm.Request) {}, fault.Misconfigured},
	} {
		r := request
		test.change(&r)
		if _, err := openai.New(test.config).Prepare(r); fault.CodeOf(err) != test.want {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

func TestRefusalsAreReplies(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Stage: "field", Refusal: "No."})
	srv.On(openaitest.Rule{Stage: "filter", Finish: "content_filter"})
	srv.On(openaitest.Rule{Stage: "words", Reply: "I'm sorry, but I can't help with that."})
	srv.On(openaitest.Rule{Stage: "answer", Reply: "I can't find a task here."})
	model := openai.New(openai.Config{BaseURL: srv.URL})
	for stage, want := range map[string]string{
		"field": "No.", "filter": "the endpoint's content filter stopped the reply",
		"words": "I'm sorry, but I can't help with that.", "answer": "",
	} {
		reply, err := model.Send(t.Context(),
			prepare(t, model, llm.Request{Model: "m", Messages: llm.User("u"), Label: llm.Label{Stage: stage}}))
		if err != nil || reply.Refusal != want {
			t.Errorf("%s: got %q, %v, want %q", stage, reply.Refusal, err, want)
		}
	}
}

func TestUsageIsEstimatedWhenTheEndpointDoesNotCount(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Stage: "silent", Reply: "退款ok", Usage: &llm.Usage{}})
	srv.On(openaitest.Rule{Reply: "ok", Usage: &llm.Usage{Input: 5, Output: 1}})
	send := func(config openai.Config, stage string) llm.Usage {
		config.BaseURL = srv.URL
		model := openai.New(config)
		reply, err := model.Send(t.Context(),
			prepare(t, model, llm.Request{Model: "m", System: "12345678", Messages: llm.User("你好"),
				Label: llm.Label{Stage: stage}}))
		if err != nil {
			t.Fatal(err)
		}
		return reply.Usage
	}
	if got, want := send(openai.Config{}, "silent"), (llm.Usage{Input: 4, Output: 3, Estimated: true}); got != want {
		t.Errorf("not counted: got %+v, want %+v", got, want)
	}
	if got, want := send(openai.Config{}, "x"), (llm.Usage{Input: 5, Output: 1}); got != want {
		t.Errorf("counted: got %+v, want %+v", got, want)
	}
	if got := send(openai.Config{Offline: true}, "x"); !got.Estimated {
		t.Errorf("offline: got %+v, want it marked as estimated", got)
	}
}

func TestAHandlerInTheProcessCanAnswer(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Reply: "in process"})
	model := openai.New(openai.Config{BaseURL: "http://offline.invalid/v1", Offline: true,
		HTTPClient: openai.InProcess(srv)})
	reply, err := model.Send(t.Context(), prepare(t, model, llm.Request{Model: "m", Messages: llm.User("u")}))
	if err != nil || reply.Text != "in process" || !model.Offline() {
		t.Fatalf("got %+v, %v", reply, err)
	}
}
