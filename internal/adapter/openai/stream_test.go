package openai_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	chat "cairn/internal/adapter/openai"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

const longText = "The weather in Bergen is wet. Take a coat, an umbrella and warm shoes; the wind comes from the sea."

// streamFrom sends request as a stream and returns the parts that arrived.
func streamFrom(t *testing.T, c chat.Config, r llm.Request) (parts []string, reply llm.Reply, err error) {
	t.Helper()
	r.Stream = true
	client := chat.New(c)
	reply, err = client.Stream(t.Context(), prepare(t, client, r), func(text string) { parts = append(parts, text) })
	return parts, reply, err
}

func TestAStreamGivesTheReplyInParts(t *testing.T) {
	t.Parallel()
	server := openaitest.New(t)
	server.On(openaitest.Rule{Reply: longText, Pace: time.Millisecond, Usage: &llm.Usage{Input: 7, Output: 9}})
	parts, reply, err := streamFrom(t, chat.Config{BaseURL: server.URL}, request)
	testkit.Must(t, err)
	if len(parts) < 3 || strings.Join(parts, "") != longText || reply.Text != longText {
		t.Errorf("parts %q, reply %q", parts, reply.Text)
	}
	if reply.Finish != "stop" || reply.Usage != (llm.Usage{Input: 7, Output: 9}) {
		t.Errorf("finish %q, usage %+v", reply.Finish, reply.Usage)
	}
	body := string(server.Requests()[0].Body)
	if !strings.Contains(body, `"stream_options":{"include_usage":true}`) {
		t.Errorf("no usage asked for: %s", body)
	}
	if len(server.Paid()) != 1 {
		t.Errorf("paid %v", server.Paid())
	}
	plain, err := chat.New(chat.Config{BaseURL: server.URL}).Send(t.Context(),
		prepare(t, chat.New(chat.Config{BaseURL: server.URL}), withStream(request)))
	testkit.Must(t, err)
	if plain.Text != longText {
		t.Errorf("Send of a streamed request: %+v", plain)
	}
}

func withStream(r llm.Request) llm.Request {
	r.Stream = true
	return r
}

func TestAStreamAssemblesToolCalls(t *testing.T) {
	t.Parallel()
	body := `data: {"id":"","choices":[],"prompt_filter_results":[],"error":null}

data: {"id":"a","choices":[{"index":0,"delta":{"role":"assistant","content":"Let me look. "}}]}

data: {"id":"","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function",` +
		`"function":{"name":"memory_list","arguments":""}}]}}]}

: a comment keeps the connection open

data: {"id":"b","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"type":"function","function":` +
		`{"name":"memory_save","arguments":"{\"content\":"}}]}}]}

data: {"id":"a","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}},` +
		`{"index":1,"function":{"arguments":"\"tea\"}"}}]}}]}

data: {"id":"a","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`
	url := sends(t, "text/event-stream; charset=utf-8", body)
	parts, reply, err := streamFrom(t, chat.Config{BaseURL: url}, request)
	testkit.Must(t, err)
	want := []llm.ToolCall{{ID: "c1", Name: "memory_list", Arguments: "{}"},
		{ID: "call_1", Name: "memory_save", Arguments: `{"content":"tea"}`}}
	if !slices.Equal(reply.Calls, want) || reply.Finish != "tool_calls" || strings.Join(parts, "") != "Let me look. " {
		t.Errorf("calls %+v, finish %q, parts %q", reply.Calls, reply.Finish, parts)
	}
	if !reply.Usage.Estimated || reply.Usage.Output == 0 {
		t.Errorf("usage %+v", reply.Usage)
	}
}

func TestAnEndpointThatDoesNotStreamGivesOnePart(t *testing.T) {
	t.Parallel()
	url := sends(t, "application/json",
		`{"choices":[{"index":0,"message":{"content":"Fine."},"finish_reason":"stop"}]}`)
	parts, reply, err := streamFrom(t, chat.Config{BaseURL: url}, request)
	testkit.Must(t, err)
	if !slices.Equal(parts, []string{"Fine."}) || reply.Text != "Fine." {
		t.Errorf("parts %q, reply %+v", parts, reply)
	}
}

// A stream that is not complete is never a reply.
func TestABrokenStreamIsRetryable(t *testing.T) {
	t.Parallel()
	const begin = `data: {"id":"a","choices":[{"index":0,"delta":{"content":"It is "}}]}` + "\n\n"
	for name, c := range map[string]struct {
		body  string
		class llm.Class
	}{
		"no finish reason": {begin + "data: [DONE]\n\n", llm.Retryable},
		"empty":            {"", llm.Retryable},
		"not JSON":         {begin + `data: {"id":"a","choices":[{"index":0,` + "\n\n", llm.Retryable},
		"error inside":     {begin + `data: {"error":{"message":"overloaded","code":503}}` + "\n\n", llm.Retryable},
		"rejected inside": {begin + `data: {"error":{"message":"content too long","code":400}}` + "\n\n",
			llm.Fatal},
	} {
		parts, reply, err := streamFrom(t, chat.Config{BaseURL: sends(t, "text/event-stream", c.body)}, request)
		var failed *llm.Error
		if !errors.As(err, &failed) || failed.Class != c.class || !failed.Sent {
			t.Errorf("%s: %+v, error %v", name, reply, err)
		}
		if strings.Contains(c.body, "error") && !strings.Contains(err.Error(), "inside a 200") {
			t.Errorf("%s: error %v", name, err)
		}
		if name != "empty" && strings.Join(parts, "") != "It is " {
			t.Errorf("%s: parts %q", name, parts)
		}
	}
}

func TestACutOrSilentStreamIsRetryable(t *testing.T) {
	t.Parallel()
	server := openaitest.New(t)
	server.On(openaitest.Rule{Reply: longText, Events: 3, DropAfter: true, Nth: 1})
	server.On(openaitest.Rule{Reply: longText, Events: 3, Nth: 2})
	for _, name := range []string{"cut", "silent"} {
		_, _, err := streamFrom(t, chat.Config{BaseURL: server.URL, Silence: 200 * time.Millisecond}, request)
		var failed *llm.Error
		if !errors.As(err, &failed) || failed.Class != llm.Retryable || !failed.Sent {
			t.Errorf("%s: error %v", name, err)
		}
		if name == "silent" && !strings.Contains(err.Error(), "sent nothing for 200ms") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if len(server.Paid()) != 0 {
		t.Errorf("paid %v", server.Paid())
	}
}

func TestAStreamEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	server := openaitest.New(t)
	server.On(openaitest.Rule{Reply: longText, Events: 3})
	client := chat.New(chat.Config{BaseURL: server.URL})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := client.Stream(ctx, prepare(t, client, withStream(request)), func(string) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestAStreamThatIsTooLongIsInvalid(t *testing.T) {
	t.Parallel()
	for _, member := range []string{"content", "refusal"} {
		part := `data: {"id":"a","choices":[{"index":0,"delta":{"` + member + `":"` + strings.Repeat("word ", 10_000) +
			`"}}]}` + "\n\n"
		_, _, err := streamFrom(t, chat.Config{BaseURL: sends(t, "text/event-stream", strings.Repeat(part, 6))},
			request)
		var failed *llm.Error
		if !errors.As(err, &failed) || failed.Class != llm.Invalid {
			t.Errorf("%s: error %v", member, err)
		}
	}
}

// An endpoint that rejects stream_options gets the request without a stream.
func TestARejectedStreamIsSentPlain(t *testing.T) {
	t.Parallel()
	server := openaitest.New(t)
	server.On(openaitest.Rule{Status: 400, Reply: "unknown field stream_options"})
	_, _, err := streamFrom(t, chat.Config{BaseURL: server.URL}, request)
	plain, ok := llm.Plainer(withStream(request), err)
	if !ok || plain.Stream {
		t.Errorf("plainer %v: %+v, error %v", ok, plain, err)
	}
}

// sends starts a server that answers every request with a body.
func sends(t *testing.T, kind, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL
}
