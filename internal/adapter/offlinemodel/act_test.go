package offlinemodel

import (
	"encoding/json"
	"strings"
	"testing"

	"cairn/internal/domain/prompt"
)

func tools(definitions ...string) []any {
	var out []any
	for _, definition := range definitions {
		out = append(out, json.RawMessage(`{"type":"function","function":`+definition+`}`))
	}
	return out
}

const (
	savesFacts = `{"name":"note_down","parameters":{"type":"object","properties":{"content":{"type":"string"},` +
		`"zz":{"type":"string"}}}}`
	searches     = `{"name":"dig","parameters":{"type":"object","properties":{"query":{"type":"string"}}}}`
	savesMethods = `{"name":"keep_method","parameters":{"type":"object","properties":{"name":{"type":"string"},` +
		`"procedure":{"type":"string"}}}}`
	other = `{"name":"reboot","parameters":{"type":"object","properties":{"zz":{"type":"string"}}}}`
)

func TestToolsAreCalledForWhatTheMaterialHolds(t *testing.T) {
	t.Parallel()
	facts := prompt.Material{Messages: numbering(user("Hi! I keep two goats. My sister lives in Oslo. How are you?"))}
	asked := prompt.Material{Question: "Where does the sister live?"}
	for name, c := range map[string]struct {
		material prompt.Material
		want     string // tool: parts of its arguments
	}{
		"facts":        {facts, "note_down: goats Oslo"},
		"question":     {asked, "dig: sister"},
		"method":       {prompt.Material{Messages: releaseTalk()}, "keep_method: changelog publish-release"},
		"nothing":      {prompt.Material{Messages: numbering(user("Hi!"))}, ""},
		"only a greet": {prompt.Material{}, ""},
	} {
		text, _ := prompt.User(c.material)
		reply := chat(t, map[string]any{"messages": []any{map[string]any{"role": "user", "content": text}},
			"tools": tools(savesFacts, searches, savesMethods, other)})
		made, called := "", ""
		for _, call := range reply.Choices[0].Message.ToolCalls {
			called = call.Function.Name
			made += call.Function.Arguments
		}
		tool, parts, _ := strings.Cut(c.want, ": ")
		if called != tool {
			t.Errorf("%s: called %q with %s", name, called, made)
		}
		for _, part := range strings.Fields(parts) {
			if !strings.Contains(made, part) {
				t.Errorf("%s: %q lacks %q", name, made, part)
			}
		}
		if tool == "" && (reply.Choices[0].Message.Content == "" || reply.Choices[0].FinishReason != "stop") {
			t.Errorf("%s: no final text", name)
		}
	}
}

// An agent's loop ends because nothing is sent twice.
func TestWhatWasSentIsNotSentAgain(t *testing.T) {
	t.Parallel()
	text, _ := prompt.User(prompt.Material{Messages: numbering(user("I keep two goats."))})
	messages := []any{map[string]any{"role": "user", "content": text}}
	for round := range 3 {
		reply := chat(t, map[string]any{"messages": messages, "tools": tools(savesFacts)}).Choices[0]
		if want := max(0, 1-round); len(reply.Message.ToolCalls) != want {
			t.Fatalf("round %d: %+v", round, reply)
		}
		for _, call := range reply.Message.ToolCalls {
			messages = append(messages,
				map[string]any{"role": "assistant",
					"tool_calls": []any{map[string]any{"id": "1", "type": "function",
						"function": map[string]any{"name": call.Function.Name, "arguments": call.Function.Arguments}}}},
				map[string]any{"role": "tool", "tool_call_id": "1", "content": "saved"})
		}
	}
}

func TestToolChoiceIsObeyed(t *testing.T) {
	t.Parallel()
	text, _ := prompt.User(prompt.Material{Messages: numbering(user("I keep two goats."))})
	for name, c := range map[string]struct {
		choice any
		want   string
	}{
		"none":  {"none", ""},
		"named": {map[string]any{"type": "function", "function": map[string]any{"name": "reboot"}}, "reboot"},
		"auto":  {"auto", "note_down"},
	} {
		reply := chat(t, map[string]any{"messages": []any{map[string]any{"role": "user", "content": text}},
			"tools": tools(savesFacts, other), "tool_choice": c.choice})
		got := ""
		for _, call := range reply.Choices[0].Message.ToolCalls {
			got = call.Function.Name
		}
		if got != c.want {
			t.Errorf("%s: called %q, want %q", name, got, c.want)
		}
	}
}

func TestQuestionIsAnsweredFromTheMaterial(t *testing.T) {
	t.Parallel()
	for _, city := range []string{"Oslo", "Lima"} {
		text, _ := prompt.User(prompt.Material{Question: "In which city does Kim's sister live?",
			Memories: []string{"Kim keeps goats.", "The sister lives in the city of " + city + "."}})
		if got := chat(t, map[string]any{"messages": []any{map[string]any{"role": "user", "content": text}}}).
			Choices[0].Message.Content; !strings.Contains(got, city) {
			t.Errorf("got %q", got)
		}
	}
}
