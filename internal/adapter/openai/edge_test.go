package openai_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cairn/internal/adapter/openai"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
)

// sendTo sends one request to an endpoint with the given limit of responses.
func sendTo(t *testing.T, url string, limit int64) (llm.Reply, *llm.Error) {
	t.Helper()
	model := openai.New(openai.Config{BaseURL: url, MaxReply: limit})
	reply, err := model.Send(t.Context(), prepare(t, model, request))
	var failure *llm.Error
	if err != nil && !errors.As(err, &failure) {
		t.Fatalf("got %v, want an *llm.Error", err)
	}
	return reply, failure
}

func TestEdgeAModelAnswerIsLimited(t *testing.T) {
	t.Parallel()
	const most = 256 << 10
	for name, attack := range map[string]struct {
		rule    openaitest.Rule
		limit   int64
		refused bool
	}{
		"longest text": {openaitest.Rule{Reply: strings.Repeat("x", most)}, 0, false},
		"text":         {openaitest.Rule{Reply: strings.Repeat("x", most+1)}, 0, true},
		"refusal":      {openaitest.Rule{Refusal: strings.Repeat("x", most+1)}, 0, true},
		"calls": {openaitest.Rule{Calls: []llm.ToolCall{{ID: "c", Name: "t",
			Arguments: `{"a":"` + strings.Repeat("x", most) + `"}`}}}, 0, true},
		"body":       {openaitest.Rule{Reply: strings.Repeat("x", 100_000)}, 50_000, true},
		"small body": {openaitest.Rule{Reply: "yes"}, 50_000, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := openaitest.New(t)
			attack.rule.Stage = "extract"
			srv.On(attack.rule)
			_, failure := sendTo(t, srv.URL, attack.limit)
			if refused := failure != nil; refused != attack.refused {
				t.Fatalf("got %v", failure)
			}
			if attack.refused && (failure.Class != llm.Invalid || failure.Fault().Code != fault.ModelInvalid) {
				t.Errorf("class %s, code %s", failure.Class, failure.Fault().Code)
			}
		})
	}
}

// The endpoint never ends its response: the client has to cut it.
func TestEdgeAnEndlessModelResponseIsCut(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]llm.Class{200: llm.Invalid, 500: llm.Retryable, 401: llm.Auth} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			for part := bytes.Repeat([]byte(" "), 64<<10); r.Context().Err() == nil; {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		}))
		_, failure := sendTo(t, srv.URL, 0)
		srv.Close()
		if failure == nil || failure.Class != want || failure.Status != status {
			t.Errorf("status %d: %+v, want class %s", status, failure, want)
		}
	}
}

// A count of tokens that cannot be true would use up the budget of a day, or give it back.
func TestEdgeImpossibleUsageIsEstimated(t *testing.T) {
	t.Parallel()
	for _, usage := range []string{
		`{"prompt_tokens":10,"completion_tokens":-1000000}`, `{"prompt_tokens":-10,"completion_tokens":1}`,
		`{"prompt_tokens":9000000000000000000,"completion_tokens":1}`,
		`{"prompt_tokens":10,"completion_tokens":9223372036854775807}`,
		`{"prompt_tokens":1e999,"completion_tokens":1}`, `{"prompt_tokens":"NaN","completion_tokens":"Infinity"}`,
	} {
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"model":"m","choices":[{"index":0,"finish_reason":"stop","message":` +
				`{"role":"assistant","content":"yes"}}],"usage":` + usage + `}`))
		}))
		reply, failure := sendTo(t, endpoint.URL, 0)
		endpoint.Close()
		if failure != nil {
			if failure.Class != llm.Invalid {
				t.Errorf("%s: %v", usage, failure)
			}
			continue
		}
		if u := reply.Usage; !u.Estimated || u.Input < 1 || u.Output < 1 || u.Input+u.Output > 1000 {
			t.Errorf("%s gives %+v", usage, u)
		}
	}
}
