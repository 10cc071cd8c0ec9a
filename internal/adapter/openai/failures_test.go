package openai_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cairn/internal/adapter/openai"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
	"cairn/internal/lab/fakes/openaitest"
)

func TestFailuresAreClassed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule      openaitest.Rule
		class     llm.Class
		code      fault.Code
		wait      time.Duration
		plainText bool
	}{
		"auth": {rule: openaitest.Rule{Status: 401}, class: llm.Auth, code: fault.ModelAuth},
		"rate": {rule: openaitest.Rule{Status: 429, RetryAfter: "2"}, class: llm.Retryable,
			code: fault.Unavailable, wait: 2 * time.Second},
		"quota": {rule: openaitest.Rule{Status: 429, Reply: `{"error":{"code":"insufficient_quota"}}`},
			class: llm.Auth, code: fault.ModelAuth},
		"overload": {rule: openaitest.Rule{Status: 503, Reply: "<html>busy</html>"}, class: llm.Retryable,
			code: fault.Unavailable},
		"length": {rule: openaitest.Rule{Status: 400, Reply: `{"error":{"code":"context_length_exceeded"}}`},
			class: llm.ContextLength, code: fault.ModelContext},
		"schema": {rule: openaitest.Rule{Status: 400, Reply: "Unknown parameter: 'response_format'"},
			class: llm.NoSchema, code: fault.ModelRejected},
		"schema not sent": {rule: openaitest.Rule{Status: 400, Reply: "Unknown parameter: 'response_format'"},
			class: llm.Fatal, code: fault.ModelRejected, plainText: true},
		"unmatched": {class: llm.Fatal, code: fault.ModelRejected},
		"malformed": {rule: openaitest.Rule{Malformed: true}, class: llm.Retryable, code: fault.Unavailable},
		"dropped":   {rule: openaitest.Rule{Drop: true}, class: llm.Retryable, code: fault.Unavailable},
		"half answered": {rule: openaitest.Rule{DropAfter: true, Reply: "text"}, class: llm.Retryable,
			code: fault.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, err := openaitest.Start()
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			srv.On(openaitest.Rule{Stage: "warm", Reply: "ok"})
			test.rule.Stage = "extract"
			if name != "unmatched" {
				srv.On(test.rule)
			}
			model := openai.New(openai.Config{BaseURL: srv.URL})
			// HTTP clients tend to send twice on a reused connection.
			if _, err := model.Send(t.Context(),
				prepare(t, model, llm.Request{Model: "m", Messages: llm.User("u"),
					Label: llm.Label{Stage: "warm"}})); err != nil {
				t.Fatal(err)
			}
			r := request
			if test.plainText {
				r.Schema = nil
			}
			_, err = model.Send(t.Context(), prepare(t, model, r))
			var failure *llm.Error
			if !errors.As(err, &failure) {
				t.Fatalf("got %v, want an *llm.Error", err)
			}
			if failure.Class != test.class || !failure.Sent || failure.RetryAfter != test.wait ||
				failure.Fault().Code != test.code {
				t.Errorf("got %+v, fault %s", failure, failure.Fault().Code)
			}
			if n := srv.Count("extract"); n != 1 {
				t.Errorf("sent %d requests, want 1", n)
			}
		})
	}
}

func TestNothingWasSentWhenTheConnectionIsRefused(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	model := openai.New(openai.Config{BaseURL: gone.URL + "/v1"})
	_, err := model.Send(t.Context(), prepare(t, model, request))
	var failure *llm.Error
	if !errors.As(err, &failure) || failure.Class != llm.Retryable || failure.Sent || failure.Status != 0 {
		t.Fatalf("got %+v, want retryable and not sent", err)
	}
}

type brokenTransport struct{}

func (brokenTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("broken pipe")
}

func TestATransportThatCannotTellMayHaveSent(t *testing.T) {
	t.Parallel()
	model := openai.New(openai.Config{BaseURL: "http://proxy.invalid/v1",
		HTTPClient: &http.Client{Transport: brokenTransport{}}})
	_, err := model.Send(t.Context(), prepare(t, model, request))
	var failure *llm.Error
	if !errors.As(err, &failure) || failure.Class != llm.Retryable || !failure.Sent {
		t.Fatalf("got %+v, want retryable and perhaps sent", err)
	}
}

func TestCancellationPassesThrough(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Barrier: "never", Reply: "late"})
	model := openai.New(openai.Config{BaseURL: srv.URL})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_ = srv.AwaitBarrier(t.Context(), "never", 1)
		cancel()
	}()
	_, err := model.Send(ctx, prepare(t, model, request))
	var failure *llm.Error
	if !errors.Is(err, context.Canceled) || !errors.As(err, &failure) || !failure.Sent ||
		failure.Fault().Code != fault.Cancelled {
		t.Fatalf("got %#v, want a cancellation of a sent request", err)
	}
	if _, err = model.Send(ctx, prepare(t, model, request)); !errors.As(err, &failure) || failure.Sent ||
		srv.Count("") != 1 {
		t.Fatalf("a done context: got %#v and %d requests, want nothing sent", err, srv.Count(""))
	}
}

func TestAnEndpointThatHangsIsRetryable(t *testing.T) {
	t.Parallel()
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Barrier: "never"})
	model := openai.New(openai.Config{BaseURL: srv.URL, Timeout: 20 * time.Millisecond})
	_, err := model.Send(t.Context(), prepare(t, model, request))
	var failure *llm.Error
	if !errors.As(err, &failure) || failure.Class != llm.Retryable ||
		!strings.Contains(failure.Message, "within 20ms") {
		t.Fatalf("got %v, want a time-out", err)
	}
}

func TestOddAnswersAreNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		class  llm.Class
		says   string
	}{
		"web page": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("<html>"))
		}, llm.Fatal, "/v1"},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/login", http.StatusFound)
		}, llm.Fatal, "/login"},
		"error inside a 200": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"error":{"code":429,"message":"slow down"}}`))
		}, llm.Retryable, "slow down"},
		"no choices": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"choices":[]}`))
		}, llm.Retryable, "no choices"},
		"our key in its words": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "bad key sk-secret", http.StatusUnauthorized)
		}, llm.Auth, "bad key ***"},
		"x-should-retry false": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Should-Retry", "false")
			w.WriteHeader(503)
		}, llm.Fatal, "503"},
		"x-should-retry true": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Should-Retry", "true")
			w.WriteHeader(400)
		}, llm.Retryable, "400"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(test.answer)
			defer srv.Close()
			model := openai.New(openai.Config{BaseURL: srv.URL, APIKey: "sk-secret"})
			_, err := model.Send(t.Context(), prepare(t, model, request))
			var failure *llm.Error
			if !errors.As(err, &failure) || failure.Class != test.class ||
				!strings.Contains(failure.Message, test.says) ||
				strings.Contains(failure.Message, "sk-secret") {
				t.Fatalf("got %+v, want %s naming %q", err, test.class, test.says)
			}
		})
	}
}
