package openai_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"

	"cairn/internal/adapter/openai"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
)

var shared = llm.Request{Model: "scripted", System: "Learn.", JSON: true, CacheKey: "k1",
	Messages: []llm.Message{{Role: llm.RoleUser, Prefix: "window\n", Content: "task"}}}

func TestPrefixIsMarkedForTheCacheOfTheEndpoint(t *testing.T) {
	t.Parallel()
	const (
		openaiMark = `{"content":[{"text":"window\n","prompt_cache_breakpoint":{"mode":"explicit"},"type":"text"},` +
			`{"text":"task","type":"text"}],"role":"user"}`
		anthropicMark = `{"content":[{"text":"window\n","type":"text","cache_control":{"type":"ephemeral"}},` +
			`{"text":"task","type":"text"}],"role":"user"}`
		plain = `{"content":"window\ntask","role":"user"}`
		key   = `"prompt_cache_key":"k1"`
		other = "http://x/v1"
	)
	claude := shared
	claude.Model = "anthropic/Claude-Sonnet-4"
	unkeyed := shared
	unkeyed.CacheKey = ""
	for name, test := range map[string]struct {
		config  openai.Config
		request llm.Request
		want    string
		keyed   bool
	}{
		"OpenAI":            {openai.Config{}, shared, openaiMark, true},
		"set to openai":     {openai.Config{BaseURL: other, Cache: openai.CacheOpenAI}, shared, openaiMark, true},
		"set to anthropic":  {openai.Config{Cache: openai.CacheAnthropic}, shared, anthropicMark, false},
		"Claude elsewhere":  {openai.Config{BaseURL: other}, claude, anthropicMark, false},
		"unknown endpoint":  {openai.Config{BaseURL: other}, shared, plain, false},
		"off":               {openai.Config{Cache: openai.CacheOff}, shared, plain, false},
		"no key, no prefix": {openai.Config{}, unkeyed, plain, false},
	} {
		body := string(prepare(t, openai.New(test.config), test.request).Body)
		if !strings.Contains(body, test.want) || strings.Contains(body, key) != test.keyed ||
			!strings.Contains(body, `"response_format":{"type":"json_object"}`) {
			t.Errorf("%s: %s", name, body)
		}
	}
}

func TestMarkedRequestIsThatOfTheSDK(t *testing.T) {
	t.Parallel()
	sent := prepare(t, openai.New(openai.Config{Cache: openai.CacheOpenAI}), shared).Body
	var params sdk.ChatCompletionNewParams
	if err := json.Unmarshal(sent, &params); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(params)
	if err != nil || string(again) != string(sent) {
		t.Errorf("sent    %s\nthe SDK %s, %v", sent, again, err)
	}
}

func TestParsedPrefixPrecedesTheContent(t *testing.T) {
	t.Parallel()
	for _, cache := range []string{openai.CacheOpenAI, openai.CacheAnthropic, openai.CacheOff} {
		asked, err := llm.ReadAsked(prepare(t, openai.New(openai.Config{Cache: cache}), shared).Body)
		if err != nil || asked.Messages[1].Content != "window\ntask" {
			t.Errorf("%s: %+v, %v", cache, asked.Messages, err)
		}
	}
}

func TestRejectedMarkIsRemoved(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Status: 400, Times: 1, Reply: "Unsupported parameter: prompt_cache_breakpoint"})
	srv.On(openaitest.Rule{Reply: "{}"})
	model := openai.New(openai.Config{BaseURL: srv.URL, Cache: openai.CacheOpenAI})
	_, err := model.Send(t.Context(), prepare(t, model, shared))
	plainer, ok := llm.Plainer(shared, err)
	if body := string(prepare(t, model, plainer).Body); !ok || strings.Contains(body, "cache") {
		t.Errorf("%v, %v: %s", ok, err, body)
	}
	if _, again := llm.Plainer(plainer, err); again {
		t.Error("a second fallback removes nothing")
	}
}

func TestRejectedObjectFormatIsRemoved(t *testing.T) {
	t.Parallel()
	plainer, ok := llm.Plainer(shared, &llm.Error{Class: llm.NoSchema})
	if body := string(prepare(t, openai.New(openai.Config{}), plainer).Body); !ok ||
		strings.Contains(body, "response_format") {
		t.Errorf("%v: %s", ok, body)
	}
}

func TestUsageContainsTheTokensOfTheCache(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]llm.Usage{
		`{"prompt_tokens":100,"completion_tokens":5,` +
			`"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}`: {
			Input: 100, Output: 5, Cached: 60, Written: 30},
		`{"prompt_tokens":100,"completion_tokens":5,"cache_read_input_tokens":60,"cache_creation_input_tokens":30}`: {
			Input: 100, Output: 5, Cached: 60, Written: 30},
		`{"prompt_tokens":100,"completion_tokens":5,"prompt_cache_hit_tokens":60}`: {Input: 100, Output: 5, Cached: 60},
		`{"prompt_tokens":100,"completion_tokens":5,"prompt_cache_hit_tokens":600}`: {Input: 100, Output: 5,
			Cached: 100},
	} {
		model := openai.New(openai.Config{BaseURL: "http://x/v1",
			HTTPClient: openai.InProcess(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, `{"model":"m","choices":[{"message":{"content":"x"},"finish_reason":"stop"}],`+
					`"usage":%s}`, usage)
			}))})
		got, err := model.Send(t.Context(), prepare(t, model, shared))
		if err != nil || got.Usage != want {
			t.Errorf("%s: %+v, %v", usage, got.Usage, err)
		}
	}
}
