package offlinemodel

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"cairn/internal/domain/prompt"
	"cairn/schemas"
)

func TestReplySaysThatItIsOfflineAndEstimated(t *testing.T) {
	t.Parallel()
	short := chat(t, map[string]any{"messages": []any{map[string]any{"role": "user", "content": "hi"}}})
	long := chat(t, map[string]any{"messages": []any{
		map[string]any{"role": "user", "content": strings.Repeat("hello there ", 100)}}})
	if short.Model != ModelName || !short.Usage.Estimated || short.Choices[0].FinishReason != "stop" {
		t.Errorf("%+v", short)
	}
	if short.Usage.PromptTokens < 1 || long.Usage.PromptTokens < short.Usage.PromptTokens+200 ||
		short.Usage.CompletionTokens < 1 {
		t.Errorf("usage does not follow lengths: %+v, %+v", short.Usage, long.Usage)
	}
}

func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	response, err := Client().Get("http://anything/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var list struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil || len(list.Data) != 1 ||
		list.Data[0].ID != ModelName {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestBadRequestsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, body string
		status     int
	}{
		"no JSON":     {"/v1/chat/completions", "{", http.StatusBadRequest},
		"no messages": {"/v1/chat/completions", "{}", http.StatusBadRequest},
		"stream": {"/v1/chat/completions", `{"stream":true,"messages":[{"role":"user","content":"x"}]}`,
			http.StatusBadRequest},
		"unknown path": {"/v1/embeddings", "{}", http.StatusNotFound},
	} {
		response, err := Client().Post("http://offline"+c.path, "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		var failure struct {
			Error struct{ Message, Type string }
		}
		err = json.NewDecoder(response.Body).Decode(&failure)
		response.Body.Close()
		if response.StatusCode != c.status || err != nil || failure.Error.Message == "" {
			t.Errorf("%s: status %d, %+v, %v", name, response.StatusCode, failure, err)
		}
	}
}

func TestClientObeysCancelledContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://offline/v1/models", nil)
	if response, err := Client().Do(request); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v", response, err)
	}
}

// Neither headers nor the schema's name nor the system message may decide.
func TestReplyDependsOnMaterialAndSchemaAlone(t *testing.T) {
	t.Parallel()
	text, _ := prompt.User(prompt.Material{Messages: loanDesk(ada)})
	body := func(system, name string) map[string]any {
		return map[string]any{
			"messages": []any{map[string]any{"role": "system", "content": system},
				map[string]any{"role": "user", "content": text}},
			"response_format": map[string]any{"json_schema": map[string]any{"name": name,
				"schema": schemas.Model("extract")}},
		}
	}
	want := chat(t, body("a", "x")).Choices
	if got := chat(
		t,
		body("b", "segment"),
		"X-Skill-Stage",
		"segment",
		"X-Skill-Run",
		"7",
		"Authorization",
		"Bearer none",
	).
		Choices; !reflect.DeepEqual(
		got,
		want,
	) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestSchemaIsFoundInTheInstructions(t *testing.T) {
	t.Parallel()
	material := prompt.Material{Messages: loanDesk(ada)}
	text, _ := prompt.User(material)
	reply := chat(t, map[string]any{"messages": []any{
		map[string]any{"role": "system", "content": "Reply by this schema:\n```json\n" +
			string(schemas.Model("extract")) + "\n```"},
		map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": text}}},
		map[string]any{"role": "assistant", "content": "not it"},
		map[string]any{"role": "user", "content": "Repair: not JSON."},
	}})
	var got map[string]any
	if err := json.Unmarshal([]byte(reply.Choices[0].Message.Content), &got); err != nil {
		t.Fatal(err)
	}
	if want := ask(t, prompt.Extract, material); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// A distillation sends the window, and after it the schema and the material of a step.
func TestSchemaIsFoundInTheStep(t *testing.T) {
	t.Parallel()
	material := prompt.Material{Messages: loanDesk(ada)}
	window, err := prompt.Window(material.Messages)
	if err != nil {
		t.Fatal(err)
	}
	step, err := prompt.Step("Learn.", schemas.Model("extract"), prompt.Material{})
	if err != nil {
		t.Fatal(err)
	}
	reply := chat(t, map[string]any{"response_format": map[string]any{"type": "json_object"}, "messages": []any{
		map[string]any{"role": "system", "content": "You learn skills."},
		map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": window},
			map[string]any{"type": "text", "text": step}}},
	}})
	var got map[string]any
	if err := json.Unmarshal([]byte(reply.Choices[0].Message.Content), &got); err != nil {
		t.Fatal(err)
	}
	if want := ask(t, prompt.Extract, material); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}
