package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"cairn/internal/domain/llm"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// sdk returns the official client of a gateway.
func sdk(t *testing.T, b *apptest.Bundle, more ...option.RequestOption) openai.Client {
	t.Helper()
	server := httptest.NewServer(b.Handler())
	t.Cleanup(server.Close)
	return openai.NewClient(append([]option.RequestOption{option.WithBaseURL(server.URL + "/v1"),
		option.WithAPIKey(b.Key("sdk", "write"))}, more...)...)
}

func asks(text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: "cairn",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
}

const forecast = "It rains in Bergen. Take a coat, an umbrella and warm shoes."

func TestTheClientOfOpenAIChats(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: forecast, Pace: 10 * time.Millisecond})
	client := sdk(t, b)
	page, err := client.Models.List(t.Context())
	testkit.Must(t, err)
	if !slices.ContainsFunc(page.Data, func(m openai.Model) bool { return m.ID == "cairn" }) {
		t.Errorf("models %+v", page.Data)
	}
	plain, err := client.Chat.Completions.New(t.Context(), asks("How is the weather?"))
	testkit.Must(t, err)
	if plain.Choices[0].Message.Content != forecast || plain.Choices[0].FinishReason != "stop" ||
		plain.Usage.TotalTokens == 0 {
		t.Errorf("%s", plain.RawJSON())
	}
	params := asks("How is the weather now?")
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var whole openai.ChatCompletionAccumulator
	for stream.Next() {
		if !whole.AddChunk(stream.Current()) {
			t.Errorf("a part does not fit: %s", stream.Current().RawJSON())
		}
	}
	testkit.Must(t, stream.Err())
	if whole.Choices[0].Message.Content != forecast || whole.Usage.TotalTokens == 0 ||
		whole.Choices[0].FinishReason != "stop" {
		t.Errorf("streamed: %+v", whole.ChatCompletion)
	}
	params = asks("Which city?")
	params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name:   "city",
			Strict: openai.Bool(true),
			Schema: map[string]any{
				"type":                 "object",
				"properties":           map[string]any{"city": map[string]any{"type": "string"}},
				"required":             []string{"city"},
				"additionalProperties": false,
			},
		}}
	_, err = client.Chat.Completions.New(t.Context(), params)
	testkit.Must(t, err)
	requests := b.Model.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, `"json_schema"`) {
		t.Errorf("the schema did not reach the model: %s", last)
	}
}

// The client runs the loop of its tools. Cairn runs its own tools in the same turn.
func TestTheClientOfOpenAIRunsItsTools(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Last: "tool", Reply: "Order 7 is in Bergen."})
	b.Model.On(openaitest.Rule{Stage: "turn", Calls: []llm.ToolCall{
		{ID: "c1", Name: "memory_search", Arguments: `{"query":"order"}`},
		{ID: "c2", Name: "look_up", Arguments: `{"order":"7"}`}}})
	client := sdk(t, b)
	params := asks("Where is order 7?")
	params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(
		shared.FunctionDefinitionParam{Name: "look_up", Parameters: shared.FunctionParameters{"type": "object",
			"properties": map[string]any{"order": map[string]any{"type": "string"}}}})}
	asked, err := client.Chat.Completions.New(t.Context(), params)
	testkit.Must(t, err)
	calls := asked.Choices[0].Message.ToolCalls
	if asked.Choices[0].FinishReason != "tool_calls" || len(calls) != 1 || calls[0].Function.Name != "look_up" {
		t.Fatalf("%s", asked.RawJSON())
	}
	params.Messages = append(params.Messages, asked.Choices[0].Message.ToParam(),
		openai.ToolMessage("in Bergen", calls[0].ID))
	answered, err := client.Chat.Completions.New(t.Context(), params)
	testkit.Must(t, err)
	if answered.Choices[0].Message.Content != "Order 7 is in Bergen." {
		t.Errorf("%s", answered.RawJSON())
	}
}

// The response is lost on its way, and the client sends the request again by itself.
func TestARetryOfTheClientOfOpenAICallsTheModelOnce(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: forecast})
	var sent atomic.Int32
	lossy := option.WithMiddleware(func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		res, err := next(r)
		if sent.Add(1) > 1 || err != nil {
			return res, err
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		return &http.Response{StatusCode: http.StatusBadGateway, Header: http.Header{"Retry-After-Ms": {"10"}},
			Body: io.NopCloser(bytes.NewReader([]byte(`{"error":{"message":"lost"}}`))), Request: r}, nil
	})
	client := sdk(t, b, lossy)
	got, err := client.Chat.Completions.New(t.Context(), asks("How is the weather?"))
	testkit.Must(t, err)
	if got.Choices[0].Message.Content != forecast || sent.Load() != 2 || len(b.Model.Requests()) != 1 {
		t.Errorf("%d requests, %d model calls: %s", sent.Load(), len(b.Model.Requests()), got.RawJSON())
	}
}

func TestTheClientOfOpenAIGetsItsErrors(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	b.Start()
	b.Model.On(openaitest.Rule{Stage: "turn", Match: "long", Status: 400,
		Reply: "This model's maximum context length is 10 tokens"})
	client := sdk(t, b)
	ask := func(p openai.ChatCompletionNewParams, more ...option.RequestOption) *openai.Error {
		t.Helper()
		_, err := client.Chat.Completions.New(t.Context(), p, more...)
		var failed *openai.Error
		if !errors.As(err, &failed) {
			t.Fatalf("no error of the API: %v", err)
		}
		return failed
	}
	unknown := asks("Hello")
	unknown.Model = "gpt-4o"
	several := asks("Hello")
	several.N = openai.Int(2)
	for want, got := range map[string]*openai.Error{
		"invalid_api_key":         ask(asks("Hello"), option.WithAPIKey("cairn_wrong")),
		"model_not_found":         ask(unknown),
		"unsupported_parameter":   ask(several),
		"context_length_exceeded": ask(asks("long")),
	} {
		if got.Code != want || got.Message == "" || got.Type == "" {
			t.Errorf("want %s: %s", want, got.RawJSON())
		}
	}
	if ask(several).Param != "n" {
		t.Errorf("param %q", ask(several).Param)
	}
	_, err := b.App.Workspaces.ChangeSettings(t.Context(), b.Workspace.ID, json.RawMessage(`{"tokens_per_day":1}`))
	testkit.Must(t, err)
	if got := ask(
		asks("Hello again"),
	); got.Code != "insufficient_quota" ||
		got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("%s", got.RawJSON())
	}
}

// The worker stops in the middle of a stream, and another one continues.
func TestAStreamOfTheClientSurvivesItsWorker(t *testing.T) {
	t.Parallel()
	b := apptest.OpenIdle(t)
	first := b.StartProcess()
	b.Model.On(openaitest.Rule{Stage: "turn", Reply: forecast, Pace: 200 * time.Millisecond})
	client := sdk(t, b)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream := client.Chat.Completions.NewStreaming(ctx, asks("How is the weather?"))
	text := ""
	for stream.Next() {
		for _, c := range stream.Current().Choices {
			text += c.Delta.Content
		}
		if first != nil && text != "" {
			first.Kill()
			first = nil
			b.StartProcess()
		}
	}
	testkit.Must(t, stream.Err())
	if text != forecast {
		t.Errorf("%q", text)
	}
}
