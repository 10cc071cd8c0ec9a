package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/adapter/openai"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
)

var (
	save = llm.Tool{Name: "memory_save", Description: "Keeps a <fact>.",
		Schema: json.RawMessage(`{"type":"object","required":["content"],"properties":{"store":{"type":"string"},` +
			`"content":{"type":"string","maxLength":1000}}}`)}
	list    = llm.Tool{Name: "memory_list"}
	talking = llm.Request{
		Model: "scripted", System: "Help.", Tools: []llm.Tool{save, list}, Temperature: new(0.0),
		Label: llm.Label{Stage: "turn"},
		Messages: []llm.Message{
			{Role: llm.RoleUser, Content: "I like window seats."},
			{Role: llm.RoleAssistant, Calls: []llm.ToolCall{
				{ID: "a", Name: "memory_save", Arguments: `{"content": "window"}`}, {ID: "b", Name: "memory_list"},
				{ID: "c", Name: "memory_save", Arguments: `{"cut`}}},
			{Role: llm.RoleTool, CallID: "a", Content: `{"ok":true}`},
			{Role: llm.RoleTool, CallID: "b"},
			{Role: llm.RoleTool, CallID: "c", Content: "not JSON"},
			{Role: llm.RoleAssistant, Content: "Looking.",
				Calls: []llm.ToolCall{{ID: "d", Name: "memory_list", Arguments: "{}"}}},
			{Role: llm.RoleTool, CallID: "d", Content: "window"},
		},
	}
)

func TestToolsAndTheirResultsAreRenderedInOrder(t *testing.T) {
	t.Parallel()
	call := func(id, name, arguments string) string {
		return `{"id":"` + id + `","function":{"arguments":` + arguments + `,"name":"` + name + `"},"type":"function"}`
	}
	result := func(id, content string) string {
		return `{"content":` + content + `,"tool_call_id":"` + id + `","role":"tool"}`
	}
	messages := `{"messages":[` + strings.Join([]string{
		`{"content":"Help.","role":"system"}`, `{"content":"I like window seats.","role":"user"}`,
		`{"tool_calls":[` + call("a", "memory_save", `"{\"content\": \"window\"}"`) + "," +
			call("b", "memory_list", `"{}"`) + "," +
			call("c", "memory_save", `"{\"not_json\":\"{\\\"cut\"}"`) + `],"role":"assistant"}`,
		result("a", `"{\"ok\":true}"`), result("b", `""`), result("c", `"not JSON"`),
		`{"content":"Looking.","tool_calls":[` + call("d", "memory_list", `"{}"`) + `],"role":"assistant"}`,
		result("d", `"window"`),
	}, ",") + `],"model":"scripted","temperature":0,`
	tools := `"tools":[{"function":{"name":"memory_save","description":"Keeps a ` +
		`\u003cfact\u003e.","parameters":{"properties":{"store":{"type":"string"},"content":{"type":"string",` +
		`"maxLength":1000}},"required":["content"],"type":"object"}},"type":"function"},` +
		`{"function":{"name":"memory_list"},"type":"function"}]}`
	for choice, want := range map[llm.ToolChoice]string{
		llm.ChooseAuto: messages + tools,
		llm.ChooseNone: messages + `"tool_choice":"none",` + tools,
	} {
		r := talking
		r.ToolChoice = choice
		for range 3 {
			if got := prepare(t, openai.New(openai.Config{}), r).Body; string(got) != want {
				t.Fatalf("choice %q\ngot  %s\nwant %s", choice, got, want)
			}
		}
	}
	r := talking
	r.Tools, r.ToolChoice = nil, llm.ChooseNone
	if body := string(prepare(t, openai.New(openai.Config{}), r).Body); strings.Contains(body, "tool_choice") {
		t.Errorf("endpoints refuse a choice without tools: %s", body)
	}
}

func TestPrepareRefusesToolsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*llm.Request){
		"no name":       func(r *llm.Request) { r.Tools = []llm.Tool{{}} },
		"broken schema": func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "x", Schema: json.RawMessage(`{`)}} },
		"no object":     func(r *llm.Request) { r.Tools = []llm.Tool{{Name: "x", Schema: json.RawMessage(`null`)}} },
		"choice":        func(r *llm.Request) { r.ToolChoice = "perhaps" },
		"no call":       func(r *llm.Request) { r.Messages = []llm.Message{{Role: llm.RoleTool, Content: "x"}} },
	} {
		r := talking
		change(&r)
		if _, err := openai.New(openai.Config{}).Prepare(r); fault.CodeOf(err) != fault.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCallsComeInOrderWithIdsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ given, want []string }{
		"the endpoint's":     {[]string{"x", "y"}, []string{"x", "y"}},
		"none":               {[]string{"", ""}, []string{"call_4", "call_5"}},
		"repeated":           {[]string{"x", "x", "x"}, []string{"x", "call_5", "call_6"}},
		"had before":         {[]string{"a", "e"}, []string{"call_4", "e"}},
		"looks like our own": {[]string{"call_5", ""}, []string{"call_5", "call_6"}},
	} {
		srv := openaitest.New(t)
		var given, want []llm.ToolCall
		for i, id := range c.given {
			call := llm.ToolCall{ID: id, Name: fmt.Sprint("tool-", i), Arguments: `{"cut`}
			given = append(given, call)
			call.ID = c.want[i]
			want = append(want, call)
		}
		srv.On(openaitest.Rule{Calls: given, Finish: "stop"})
		model := openai.New(openai.Config{BaseURL: srv.URL})
		for range 2 {
			reply, err := model.Send(t.Context(), prepare(t, model, talking))
			if err != nil || !reflect.DeepEqual(reply.Calls, want) || reply.Finish != "tool_calls" || reply.Empty() {
				t.Errorf("%s: got %+v, %v, want %+v", name, reply, err, want)
			}
		}
	}
}

// answering is an endpoint that always gives this message.
func answering(t *testing.T, message string) *openai.Client {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"model":"m","choices":[{"message":%s,"finish_reason":"tool_calls"}]}`, message)
	}))
	t.Cleanup(srv.Close)
	return openai.New(openai.Config{BaseURL: srv.URL + "/v1"})
}

func TestOddCallsAreRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		message string
		want    llm.ToolCall
	}{
		"no content": {`{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"x",` +
			`"arguments":"{}"}}]}`, llm.ToolCall{ID: "1", Name: "x", Arguments: "{}"}},
		"null": {`{"content":null,"tool_calls":[{"id":null,"function":{"name":"x","arguments":null}}]}`,
			llm.ToolCall{ID: "call_4", Name: "x"}},
		"an object": {`{"tool_calls":[{"function":{"name":"x","arguments":{"a": 1}}}]}`,
			llm.ToolCall{ID: "call_4", Name: "x", Arguments: `{"a": 1}`}},
		"custom": {`{"tool_calls":[{"id":"1","type":"custom","custom":{"name":"x","input":"free"}}]}`,
			llm.ToolCall{ID: "1", Name: "x", Arguments: "free"}},
		"no function": {`{"tool_calls":[{"id":"1"}]}`, llm.ToolCall{ID: "1"}},
	} {
		model := answering(t, c.message)
		reply, err := model.Send(t.Context(), prepare(t, model, talking))
		if err != nil || len(reply.Calls) != 1 || reply.Calls[0] != c.want || reply.Text != "" || reply.Empty() {
			t.Errorf("%s: got %+v, %v", name, reply, err)
		}
		if !reply.Usage.Estimated || reply.Usage.Input < 50 {
			t.Errorf("%s: tools and calls are not counted: %+v", name, reply.Usage)
		}
	}
}

func TestAReplyWithNothingInItIsEmpty(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{`{"role":"assistant"}`: true, `{"content":null}`: true,
		`{"content":" \n"}`: true, `{"tool_calls":[]}`: true,
		`{"content":"x"}`: false, `{"refusal":"No."}`: false} {
		model := answering(t, message)
		if reply, err := model.Send(t.Context(), prepare(t, model, talking)); err != nil || reply.Empty() != want {
			t.Errorf("%s: got %+v, %v", message, reply, err)
		}
	}
}

// A text that sounds like a refusal is not one if the model continues to work.
func TestAnApologyNextToACallIsNoRefusal(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Reply: "I'm sorry, but I can't help with that.",
		Calls: []llm.ToolCall{{ID: "1", Name: "memory_list"}}})
	model := openai.New(openai.Config{BaseURL: srv.URL})
	if reply, err := model.Send(t.Context(), prepare(t, model, talking)); err != nil || reply.Refusal != "" {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestPlainerLeavesOutOnlyWhatIsThere(t *testing.T) {
	t.Parallel()
	r := llm.Request{System: "s", Schema: schema, ToolChoice: llm.ChooseNone}
	for _, class := range []llm.Class{llm.NoSchema, llm.NoOption} {
		plainer, ok := llm.Plainer(r, fmt.Errorf("sent: %w", &llm.Error{Class: class}))
		if !ok || (plainer.Schema == nil) != (class == llm.NoSchema) ||
			(plainer.ToolChoice == "") != (class == llm.NoOption) {
			t.Errorf("%s: %+v, %v", class, plainer, ok)
		}
		if _, ok := llm.Plainer(plainer, &llm.Error{Class: class}); ok {
			t.Errorf("%s: twice", class)
		}
	}
	if _, ok := llm.Plainer(r, &llm.Error{Class: llm.Fatal}); ok {
		t.Error("fatal")
	}
}
