package ledger_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"cairn/internal/adapter/openai"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/run"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

func TestAFailedCallKeepsItsClassAndMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for step, c := range map[string]struct {
		failure error
		class   llm.Class
		unknown int
	}{
		"overloaded":  {&llm.Error{Class: llm.Retryable, Status: 503, Sent: true, Message: "503"}, llm.Retryable, 0},
		"dropped":     {&llm.Error{Class: llm.Retryable, Sent: true, Message: "connection broke"}, llm.Retryable, 1},
		"unreachable": {&llm.Error{Class: llm.Retryable, Message: "no route"}, llm.Retryable, 0},
		"key":         {&llm.Error{Class: llm.Auth, Status: 401, Sent: true, Message: "401"}, llm.Auth, 0},
		"rejected":    {&llm.Error{Class: llm.Fatal, Status: 400, Sent: true, Message: "400"}, llm.Fatal, 0},
		"too long": {&llm.Error{Class: llm.ContextLength, Status: 400, Sent: true, Message: "too long"},
			llm.ContextLength, 0},
		"mystery": {errors.New("who knows"), "", 1},
	} {
		b.model.answers(func(context.Context, int, string) (llm.Reply, error) { return llm.Reply{}, c.failure })
		_, err := b.ask(t.Context(), step, "hi")
		var failed *llm.Error
		if errors.As(err, &failed) != (c.class != "") || failed != nil && failed.Class != c.class {
			t.Errorf("%s: %v", step, err)
		}
		text := c.failure.Error()
		if failed != nil {
			text = failed.Message
		}
		row := b.row(step)
		if row.State != run.CallFailed || row.ErrorClass != string(c.class) || row.Unknown != c.unknown ||
			!strings.Contains(row.Error, text) || row.FinishedAt == nil {
			t.Errorf("%s: ledger %+v, want class %q, unknown %d", step, row, c.class, c.unknown)
		}
		b.model.answers(nil)
		if _, err := b.ask(t.Context(), step, "changed"); err != nil {
			t.Errorf("%s, again: %v", step, err)
		}
		row = b.row(step)
		if row.State != run.CallDone || row.Attempts != 2 || row.Unknown != c.unknown || row.ErrorClass != "" ||
			row.Error != "" {
			t.Errorf("%s, again: ledger %+v", step, row)
		}
		if sent := b.model.requests(); sent[len(sent)-1] != sent[len(sent)-2] {
			t.Errorf("%s: sent %q again, want the stored request", step, sent[len(sent)-1])
		}
	}
	if n := b.number("select count(*) from llm_calls where reserved <> 0 or reserved_micros <> 0"); n != 0 {
		t.Errorf("%d calls still hold a part of the budget", n)
	}
}

// The log of a rejected prompt shows which section differs, but not its text.
func TestARejectedPromptIsLoggedByTheHashesOfItsSections(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var log bytes.Buffer
	b.Log = slog.New(slog.NewJSONHandler(&log, nil))
	status := 400
	b.model.answers(func(context.Context, int, string) (llm.Reply, error) {
		return llm.Reply{}, &llm.Error{Class: llm.Fatal, Status: status, Sent: true,
			Message: "credit balance exhausted"}
	})
	told := func(step, soul string) (line struct {
		Run      string
		Step     string
		Status   int
		System   string
		Sections map[string]string
	}) {
		t.Helper()
		log.Reset()
		system, err := prompt.Session("en", "chat",
			prompt.SessionContext{Soul: soul, Core: []prompt.Fact{{Text: "The release is on Fridays."}}})
		testkit.Must(t, err)
		if _, err := b.ask(t.Context(), step, "hi", func(r *llm.Request) { r.System = system }); err == nil {
			t.Fatal("the request went through")
		}
		for raw := range bytes.Lines(log.Bytes()) {
			if bytes.Contains(raw, []byte("model request rejected")) {
				testkit.Must(t, json.Unmarshal(raw, &line))
			}
		}
		for _, secret := range []string{"pirate", "Fridays"} {
			if strings.Contains(log.String(), secret) {
				t.Errorf("the log holds %q", secret)
			}
		}
		return line
	}
	first, second := told("one", "Speak plainly."), told("two", "Speak like a pirate.")
	if first.Run != b.run.Run || first.Step != "one" || first.Status != 400 || first.System == second.System ||
		len(first.Sections) != 7 {
		t.Errorf("logged %+v", first)
	}
	for name, hash := range first.Sections {
		if differs := second.Sections[name] != hash; differs != (name == "soul") {
			t.Errorf("section %q differs: %t", name, differs)
		}
	}
	if status = 503; told("three", "").Status != 0 {
		t.Error("an endpoint that is overloaded has the prompt logged")
	}
}

func withSchema(r *llm.Request) { r.Schema = &llm.Schema{Name: "x", JSON: []byte(`{"type":"object"}`)} }

// noSchema is an endpoint that does not support response_format.
func noSchema(_ context.Context, _ int, body string) (llm.Reply, error) {
	if strings.Contains(body, `"schema":true`) {
		return llm.Reply{}, &llm.Error{Class: llm.NoSchema, Status: 400, Sent: true, Message: "response_format"}
	}
	return said("plain"), nil
}

func TestAnEndpointWithoutSchemasIsAskedOnceMoreWithout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.answers(noSchema)
	if r, err := b.ask(t.Context(), "s", "hi", withSchema); err != nil || r.Text != "plain" {
		t.Errorf("%+v, %v", r, err)
	}
	sent := b.model.requests()
	if len(sent) != 2 || !strings.Contains(sent[1], `"schema":false`) {
		t.Fatalf("sent %q", sent)
	}
	if n := b.number("select count(*) from llm_calls where request = array[$1] and request_sha = "+
		"sha256(convert_to($1, 'UTF8'))", sent[1]); n != 1 {
		t.Error("the stored request is not the one that was answered")
	}
	if c := b.row("s"); c.State != run.CallDone || c.Attempts != 1 {
		t.Errorf("ledger %+v", c)
	}
}

func TestTheFallBackIsTakenOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.answers(func(context.Context, int, string) (llm.Reply, error) {
		return llm.Reply{}, &llm.Error{Class: llm.NoSchema, Status: 400, Sent: true, Message: "json_schema"}
	})
	if _, err := b.ask(t.Context(), "s", "hi", withSchema); err == nil {
		t.Error("no error")
	}
	if n := len(b.model.requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	b.model.answers(noSchema)
	if _, err := b.ask(t.Context(), "s", "hi", withSchema); err != nil {
		t.Error(err)
	}
	if sent := b.model.requests(); len(sent) != 3 || sent[2] != sent[1] {
		t.Errorf("sent %q, want the stored plain request at once", sent)
	}
}

// Rejected features are removed from the request one by one.
func TestAnEndpointWithoutOptionsIsAskedOnceMoreWithout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	srv := openaitest.New(t)
	srv.On(openaitest.Rule{Stage: "test", Nth: 1, Status: 400, Reply: "unknown response_format json_schema"})
	srv.On(openaitest.Rule{Stage: "test", Nth: 2, Status: 400, Reply: "tool_choice none is not supported"})
	srv.On(openaitest.Rule{Stage: "test", Calls: []llm.ToolCall{{Name: "look", Arguments: "{}"}}})
	b.Model = openai.New(openai.Config{BaseURL: srv.URL})
	for range 2 {
		r, err := b.ask(t.Context(), "s", "hi", withSchema, func(r *llm.Request) {
			r.Tools, r.ToolChoice, r.Temperature = []llm.Tool{{Name: "look"}}, llm.ChooseNone, new(0.0)
		})
		if err != nil || len(r.Calls) != 1 ||
			r.Calls[0] != (llm.ToolCall{ID: "call_0", Name: "look", Arguments: "{}"}) {
			t.Errorf("%+v, %v", r, err)
		}
	}
	calls := srv.Requests()
	if len(calls) != 3 {
		t.Fatalf("%d requests, want 3", len(calls))
	}
	for i, want := range []string{"response_format tool_choice temperature", "tool_choice temperature", ""} {
		for _, option := range []string{"response_format", "tool_choice", "temperature"} {
			if strings.Contains(string(calls[i].Body), `"`+option+`":`) != strings.Contains(want, option) {
				t.Errorf("request %d: %s, want of the options %q", i, calls[i].Body, want)
			}
		}
	}
	if n := b.number("select count(*) from llm_calls where request = array[$1] and tool_calls->0->>'name' = 'look'",
		string(calls[2].Body)); n != 1 {
		t.Error("the stored request is not the one that was answered")
	}
}
