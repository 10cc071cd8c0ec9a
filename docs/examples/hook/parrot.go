package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"cairn/starter/client"
)

// parrot is an agent that only knows the recalled memories. If it has tools, it saves the
// text after "Remember:" and searches for facts that were not recalled.
func parrot(ctx context.Context, messages []client.Message) ([]client.Message, error) {
	tools, asked := client.ToolsOf(ctx), messages[len(messages)-1].Content
	fact, saves := strings.CutPrefix(asked, "Remember: ")
	reply := "I remember nothing of that."
	switch first := messages[0]; {
	case saves && tools.Has("memory_save"):
		messages = use(ctx, tools, messages, "memory_save", map[string]any{"content": fact})
		reply = "I saved that: " + fact
	case first.Role == "system":
		_, facts, _ := strings.Cut(first.Content, "\n")
		reply = "I remember: " + strings.TrimSpace(facts)
	case tools.Has("memory_search"):
		messages = use(ctx, tools, messages, "memory_search", map[string]any{"query": asked})
		var found struct{ Results []struct{ Content string } }
		if err := json.Unmarshal([]byte(messages[len(messages)-1].Content), &found); err == nil &&
			len(found.Results) > 0 {
			reply = "I looked it up: " + found.Results[0].Content
		}
	}
	return append(messages, client.Message{Role: "assistant", Content: reply}), nil
}

// use calls a tool as a model would: it adds the tool call and its result to the messages.
func use(ctx context.Context, tools *client.Tools, messages []client.Message, name string,
	arguments map[string]any) []client.Message {
	raw, _ := json.Marshal(arguments) // marshaling strings cannot fail
	id := fmt.Sprintf("call-%d", len(messages))
	call := map[string]any{"id": id, "type": "function",
		"function": map[string]any{"name": name, "arguments": string(raw)}}
	messages = append(messages, client.Message{Role: "assistant", ToolCalls: []any{call}})
	return append(messages, tools.Call(ctx, client.ToolCall{ID: id, Name: name, Arguments: string(raw)}))
}
