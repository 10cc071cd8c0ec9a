package openai

import (
	"cairn/internal/domain/llm"
	"net/http"
	"testing"
	"time"
)

func TestStatusesMapToClasses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		said   string
		want   llm.Class
	}{
		{400, "bad top_p", llm.Fatal},
		{400, "stream_options: extra inputs are not permitted", llm.NoOption},
		{400, "the upstream provider rejects the messages", llm.Fatal},
		{400, "tool_choice 'none' is not supported", llm.NoOption},
		{422, "Unsupported value: 'temperature' does not support 0 with this model", llm.NoOption},
		{400, "This model's maximum context length is 8192 tokens", llm.ContextLength},
		{400, "prompt is too long: 210000 tokens > 200000 maximum", llm.ContextLength},
		{400, "Invalid schema for response_format 'task'", llm.NoSchema},
		{401, "", llm.Auth}, {402, "", llm.Auth}, {403, "", llm.Auth},
		{404, "model not found", llm.Fatal},
		{408, "", llm.Retryable}, {409, "", llm.Retryable},
		{413, "", llm.ContextLength},
		{422, "unprocessable", llm.Fatal},
		{422, "json_schema is not supported", llm.NoSchema},
		{429, "slow down", llm.Retryable},
		{429, "You exceeded your current quota, please check your plan", llm.Auth},
		{500, "", llm.Retryable}, {502, "", llm.Retryable}, {503, "maximum context", llm.Retryable},
		{504, "", llm.Retryable}, {529, "", llm.Retryable},
		{501, "", llm.Fatal},
	} {
		got := classOf(test.status, endpointError{Message: test.said},
			[]byte(`{"response_format":{},"tool_choice":"none","temperature":0,"stream_options":{}}`))
		if got != test.want {
			t.Errorf("%d %q: got %s, want %s", test.status, test.said, got, test.want)
		}
	}
}

func TestAParameterThatWasNotSentIsNotToBlame(t *testing.T) {
	t.Parallel()
	request := []byte(`{"messages":[{"content":"\"response_format\": \"tool_choice\":"}]}`)
	for _, said := range []string{"response_format is unknown", "tool_choice is unknown", "temperature is unknown"} {
		if got := classOf(400, endpointError{Message: said}, request); got != llm.Fatal {
			t.Errorf("%q: got %s", said, got)
		}
	}
}

func TestRetryAfterIsReadAndCapped(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		milliseconds, plain string
		want                time.Duration
	}{
		{"", "", 0},
		{"1500", "9", 1500 * time.Millisecond},
		{"junk", "9", 9 * time.Second},
		{"", "0.5", 500 * time.Millisecond},
		{"", "3600", time.Minute},
		{"", "1e999", time.Minute},
		{"", "-1", 0}, {"", "NaN", 0}, {"", "soon", 0},
		{"", now.Add(20 * time.Second).Format(http.TimeFormat), 20 * time.Second},
		{"", now.Add(time.Hour).Format(http.TimeFormat), time.Minute},
		{"", now.Add(-time.Hour).Format(http.TimeFormat), 0},
	} {
		header := http.Header{}
		header.Set("Retry-After-Ms", test.milliseconds)
		header.Set("Retry-After", test.plain)
		if got := retryAfter(header, now); got != test.want {
			t.Errorf("%q %q: got %s, want %s", test.milliseconds, test.plain, got, test.want)
		}
	}
}

func TestStrictModeNeedsClosedSchemas(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`: true,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                              false,
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"],` +
			`"additionalProperties":false}`: false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"required":["a"],` +
			`"additionalProperties":false}`: false,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"object","properties":{},"additionalProperties":false}` +
			`,{"type":"null"}]}},"required":["a"],"additionalProperties":false}`: true,
	} {
		if got := strictable([]byte(schema)); got != want {
			t.Errorf("%s: got %v, want %v", schema, got, want)
		}
	}
}
