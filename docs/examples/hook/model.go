package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"cairn/starter/client"
)

// endpoint is an agent that gets its replies from an OpenAI-compatible endpoint.
type endpoint struct{ url, key, model string }

// maxRounds is the maximum number of rounds of tool calls before the reply.
const maxRounds = 6

// answer calls the model and runs its tool calls until the model replies with text. The
// hook decides which tools exist: in mode static there are none.
func (e endpoint) answer(ctx context.Context, messages []client.Message) ([]client.Message, error) {
	tools := client.ToolsOf(ctx)
	for round := 1; ; round++ {
		offered := tools.Definitions()
		if round > maxRounds {
			offered = nil
		}
		reply, calls, err := e.complete(ctx, messages, offered)
		if err != nil {
			return nil, err
		}
		messages = append(messages, reply)
		if len(calls) == 0 {
			return messages, nil
		}
		for _, call := range calls {
			messages = append(messages, tools.Call(ctx, call))
		}
	}
}

// complete sends one request and returns the reply with its tool calls.
func (e endpoint) complete(ctx context.Context, messages []client.Message, tools []any) (reply client.Message,
	calls []client.ToolCall, err error) {
	body := map[string]any{"model": e.model, "messages": messages}
	if len(tools) > 0 {
		body["tools"] = tools
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return reply, nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(e.url, "/")+"/chat/completions",
		bytes.NewReader(raw))
	if err != nil {
		return reply, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+e.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return reply, nil, err
	}
	defer res.Body.Close()
	var answer struct {
		Choices []struct {
			Message struct {
				Content   string
				ToolCalls []json.RawMessage `json:"tool_calls"`
			}
		}
		Error struct{ Message string }
	}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || res.StatusCode != http.StatusOK ||
		len(answer.Choices) == 0 {
		return reply, nil, fmt.Errorf("the model endpoint responded with %s: %s", res.Status, answer.Error.Message)
	}
	message := answer.Choices[0].Message
	reply = client.Message{Role: "assistant", Content: message.Content}
	for _, raw := range message.ToolCalls {
		var call struct {
			ID       string
			Function struct{ Name, Arguments string }
		}
		if err := json.Unmarshal(raw, &call); err != nil {
			return reply, nil, fmt.Errorf("decode a tool call: %w", err)
		}
		reply.ToolCalls = append(reply.ToolCalls, raw)
		calls = append(calls, client.ToolCall{ID: call.ID, Name: call.Function.Name,
			Arguments: call.Function.Arguments})
	}
	return reply, calls, nil
}
