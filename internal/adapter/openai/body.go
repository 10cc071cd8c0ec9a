package openai

import (
	"encoding/json"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
)

// body is a chat completion request on the wire, byte for byte what the SDK's
// parameters render to (a test compares them): rendered by those, a long
// conversation took a third of the time that an agent's step has for itself, since
// every part encodes itself and is checked again at each level above.
type body struct {
	Messages            []bodyMessage `json:"messages"`
	Model               string        `json:"model"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitzero"`
	MaxTokens           int           `json:"max_tokens,omitzero"`
	Temperature         *float64      `json:"temperature,omitzero"`
	ReasoningEffort     string        `json:"reasoning_effort,omitzero"`
	ResponseFormat      *bodyFormat   `json:"response_format,omitzero"`
	ToolChoice          string        `json:"tool_choice,omitzero"`
	Tools               []bodyTool    `json:"tools,omitzero"`
}

type bodyMessage struct {
	Content   *string    `json:"content,omitzero"`
	ToolCalls []bodyCall `json:"tool_calls,omitzero"`
	CallID    string     `json:"tool_call_id,omitzero"`
	Role      string     `json:"role"`
}

type bodyCall struct {
	ID       string `json:"id"`
	Function struct {
		Arguments string `json:"arguments"`
		Name      string `json:"name"`
	} `json:"function"`
	Type string `json:"type"`
}

type bodyTool struct {
	Function struct {
		Name        string `json:"name"`
		Description string `json:"description,omitzero"`
		// below the root the order of a schema is kept
		Parameters map[string]json.RawMessage `json:"parameters,omitzero"`
	} `json:"function"`
	Type string `json:"type"`
}

type bodyFormat struct {
	Schema *bodySchema `json:"json_schema,omitzero"`
	Type   string      `json:"type"`
}

type bodySchema struct {
	Name   string          `json:"name"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// typeFunction is the type of calls and of tools.
const typeFunction = "function"

func messagesOf(r llm.Request) ([]bodyMessage, error) {
	messages := make([]bodyMessage, 0, len(r.Messages)+1)
	if r.System != "" {
		messages = append(messages, bodyMessage{Role: llm.RoleSystem, Content: &r.System})
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		out := bodyMessage{Role: m.Role, Content: &m.Content}
		switch {
		case m.Role == llm.RoleAssistant:
			if m.Content == "" && len(m.Calls) > 0 { // some endpoints refuse empty text next to calls
				out.Content = nil
			}
			out.ToolCalls = callsBody(m.Calls)
		case m.Role == llm.RoleUser:
		case m.Role == llm.RoleTool && m.CallID != "":
			out.CallID = m.CallID
		case m.Role == llm.RoleTool:
			return nil, fault.New(fault.InvalidArgument, "a tool message of a model request names no call",
				"set CallID")
		default:
			return nil, fault.New(fault.InvalidArgument, "role "+quote(m.Role)+" of a model request is unknown",
				"use user, assistant or tool")
		}
		messages = append(messages, out)
	}
	if len(messages) == 0 {
		return nil, fault.Newf(fault.InvalidArgument, "the request of stage %q has no messages", r.Label.Stage)
	}
	return messages, nil
}

func callsBody(calls []llm.ToolCall) []bodyCall {
	var out []bodyCall
	for _, call := range calls {
		c := bodyCall{ID: call.ID, Type: typeFunction}
		c.Function.Name, c.Function.Arguments = call.Name, echoed(call.Arguments)
		out = append(out, c)
	}
	return out
}

// echoed is what a model gets to see of the arguments that it wrote. Endpoints
// parse them again: broken ones would fail every request from here on.
func echoed(arguments string) string {
	var object map[string]json.RawMessage
	switch {
	case arguments == "":
		return "{}"
	case json.Unmarshal([]byte(arguments), &object) == nil && object != nil:
		return arguments
	}
	wrapped, _ := json.Marshal(map[string]string{"not_json": arguments}) // a text always marshals
	return string(wrapped)
}

func toolsOf(r llm.Request) ([]bodyTool, error) {
	var tools []bodyTool
	for _, tool := range r.Tools {
		if tool.Name == "" {
			return nil, fault.Newf(fault.InvalidArgument, "a tool of stage %q has no name", r.Label.Stage)
		}
		out := bodyTool{Type: typeFunction}
		out.Function.Name, out.Function.Description = tool.Name, tool.Description
		if tool.Schema != nil && (json.Unmarshal(tool.Schema, &out.Function.Parameters) != nil ||
			out.Function.Parameters == nil) {
			return nil, fault.Newf(fault.InvalidArgument, "the schema of tool %q is no JSON object", tool.Name)
		}
		tools = append(tools, out)
	}
	return tools, nil
}
