package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"

	chat "cairn/internal/adapter/openai"
	"cairn/internal/domain/llm"
)

// Requests equal those of the SDK, byte for byte. The SDK sorts the keys of schemas, while this
// package keeps their order below the root, so the schemas here are sorted.
func TestRequestsAreThoseOfTheSDK(t *testing.T) {
	t.Parallel()
	without := talking
	without.Tools, without.NoReasoning, without.Temperature = nil, true, new(0.7)
	none := talking
	none.ToolChoice = llm.ChooseNone
	formed := request
	formed.Schema = &llm.Schema{Name: "task",
		JSON: json.RawMessage(`{"additionalProperties":false,"properties":{"name":{"type":"string"}},` +
			`"required":["name"],"type":"object"}`)}
	sorted := []llm.Tool{{Name: "memory_save", Description: "Keeps a <fact>.",
		Schema: json.RawMessage(`{"properties":{"content":{"maxLength":1000,"type":"string"}},` +
			`"required":["content"],"type":"object"}`)}, list}
	withTools := talking
	withTools.Tools, none.Tools = sorted, sorted
	showing := withTools
	showing.Messages = append([]llm.Message{{Role: llm.RoleUser, Content: "Look <here>", Images: []llm.Image{image}},
		{Role: llm.RoleUser, Images: []llm.Image{image, image}}}, talking.Messages...)
	for name, r := range map[string]llm.Request{"schema": formed, "tools": withTools, "options": without,
		"no choice": none, "images": showing} {
		for _, mode := range []string{"", chat.StructuredObject, chat.StructuredNone} {
			sent := prepare(t, chat.New(chat.Config{Structured: mode}), r).Body
			var params openai.ChatCompletionNewParams
			if err := json.Unmarshal(sent, &params); err != nil {
				t.Fatal(err)
			}
			again, err := json.Marshal(params)
			if err != nil {
				t.Fatal(err)
			}
			if string(again) != string(sent) {
				t.Errorf("%s, structured %q:\nsent    %s\nthe SDK %s", name, mode, sent, again)
			}
		}
	}
}

// BenchmarkPrepare renders a long conversation, compared with the SDK.
func BenchmarkPrepare(b *testing.B) {
	long := talking
	for i := range 300 {
		long.Messages = append(long.Messages,
			llm.Message{Role: llm.RoleUser, Content: fmt.Sprintf("What was it that I said %d days ago?", i)},
			llm.Message{Role: llm.RoleAssistant, Content: strings.Repeat("window ", 20)})
	}
	model := chat.New(chat.Config{})
	sent, err := model.Prepare(long)
	if err != nil {
		b.Fatal(err)
	}
	var params openai.ChatCompletionNewParams
	if err := json.Unmarshal(sent.Body, &params); err != nil {
		b.Fatal(err)
	}
	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			if _, err := model.Prepare(long); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("SDK", func(b *testing.B) {
		for b.Loop() {
			if _, err := json.Marshal(params); err != nil {
				b.Fatal(err)
			}
		}
	})
}
