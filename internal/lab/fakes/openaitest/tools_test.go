package openaitest_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"cairn/internal/adapter/openai"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
)

var dig = llm.Tool{Name: "dig", Description: "Digs.", Schema: json.RawMessage(`{"type":"object"}`)}

// loop asks until the model makes no call or ten replies have come, and returns every reply.
func loop(t *testing.T, srv *openaitest.Server, stage string, choice llm.ToolChoice) (replies []llm.Reply,
	failures int) {
	t.Helper()
	model := openai.New(openai.Config{BaseURL: srv.URL})
	r := llm.Request{Model: "m", System: "s", Messages: llm.User("go"), Tools: []llm.Tool{dig}, ToolChoice: choice,
		Label: llm.Label{Stage: stage}}
	for len(replies) < 10 {
		p, err := model.Prepare(r)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := model.Send(t.Context(), p)
		if err != nil {
			if failures++; failures > 3 {
				t.Fatal(err)
			}
			continue
		}
		replies = append(replies, reply)
		if len(reply.Calls) == 0 {
			break
		}
		r.Messages = append(r.Messages, llm.Message{Role: llm.RoleAssistant, Content: reply.Text, Calls: reply.Calls})
		for _, call := range reply.Calls {
			r.Messages = append(r.Messages, llm.Message{Role: llm.RoleTool, CallID: call.ID,
				Content: "result of " + call.Name})
		}
	}
	return replies, failures
}

func TestToolLoopsCanBeScripted(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	call := func(name, arguments string) llm.ToolCall { return llm.ToolCall{Name: name, Arguments: arguments} }
	srv.On(openaitest.Rule{Stage: "endless", CallsFunc: func(c openaitest.Call) []llm.ToolCall {
		return []llm.ToolCall{call("dig", fmt.Sprintf(`{"n":%d}`, c.Results()))}
	}})
	srv.On(openaitest.Rule{Stage: "polite", Choice: llm.ChooseNone, Reply: "enough"})
	srv.On(openaitest.Rule{Stage: "polite", Calls: []llm.ToolCall{call("dig", "{}")}})
	srv.On(openaitest.Rule{Stage: "steps", Results: new(0), Offers: []string{"dig"},
		Calls: []llm.ToolCall{call("dig", `{"broken`), call("no_such_tool", "{}"), call("dig", "{}")}})
	srv.On(openaitest.Rule{Stage: "steps", Last: llm.RoleTool, Match: "result of dig", Reply: "dug"})
	srv.On(openaitest.Rule{Stage: "fails", Nth: 2, Status: 500})
	srv.On(openaitest.Rule{Stage: "fails", Results: new(0), Calls: []llm.ToolCall{call("dig", "{}")}})
	srv.On(openaitest.Rule{Stage: "fails", Results: new(1), Reply: "after all"})
	srv.On(openaitest.Rule{Stage: "empty"})
	srv.On(openaitest.Rule{Stage: "other", Offers: []string{"fly"}, Reply: "fly"})
	srv.On(openaitest.Rule{Stage: "other", Last: llm.RoleTool, Reply: "tool"})
	srv.On(openaitest.Rule{Stage: "other", Reply: "neither"})
	for stage, want := range map[string]struct {
		choice   llm.ToolChoice
		replies  int
		last     string
		failures int
	}{
		"endless": {"", 10, "", 0}, "polite": {llm.ChooseNone, 1, "enough", 0}, "steps": {"", 2, "dug", 0},
		"fails": {"", 2, "after all", 1}, "empty": {"", 1, "", 0}, "other": {"", 1, "neither", 0},
	} {
		replies, failures := loop(t, srv, stage, want.choice)
		last := replies[len(replies)-1]
		if len(replies) != want.replies || last.Text != want.last || failures != want.failures ||
			last.Empty() != (stage == "empty") {
			t.Errorf("%s: %d failures, replies %+v", stage, failures, replies)
		}
		if calls := replies[0].Calls; stage == "steps" &&
			(len(calls) != 3 || calls[0].Arguments != `{"broken` || calls[1].Name != "no_such_tool" ||
				replies[0].Finish != "tool_calls") {
			t.Errorf("the parallel calls came as %+v", replies[0])
		}
	}
}

func TestToolsAndMessagesAreRecorded(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Results: new(0), Calls: []llm.ToolCall{{ID: "1", Name: "dig", Arguments: `{"a":1}`}}})
	srv.On(openaitest.Rule{Reply: "done"})
	loop(t, srv, "s", llm.ChooseNone)
	got := srv.Requests()[1]
	want := []llm.Message{{Role: "system", Content: "s"}, {Role: "user", Content: "go"},
		{Role: "assistant", Calls: []llm.ToolCall{{ID: "1", Name: "dig", Arguments: `{"a":1}`}}},
		{Role: "tool", Content: "result of dig", CallID: "1"}}
	if !reflect.DeepEqual(got.Messages, want) || !reflect.DeepEqual(got.Tools, []llm.Tool{dig}) ||
		got.Choice != llm.ChooseNone || got.Results() != 1 || got.Last != "result of dig" {
		t.Errorf("%+v", got)
	}
}

func TestRulesWithCallsTravelAsAScript(t *testing.T) {
	t.Parallel()
	rule := openaitest.Rule{Results: new(0), Last: "user", Choice: llm.ChooseNone, Offers: []string{"dig"},
		Calls: []llm.ToolCall{{ID: "1", Name: "dig", Arguments: "{"}}}
	data, err := json.Marshal(rule)
	if err != nil {
		t.Fatal(err)
	}
	var back openaitest.Rule
	if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, rule) {
		t.Errorf("%+v, %v", back, err)
	}
}
