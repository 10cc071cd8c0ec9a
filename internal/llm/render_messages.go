package llm

import (
	"encoding/json"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"cairn/internal/fault"
)

func messagesOf(r Request) ([]openai.ChatCompletionMessageParamUnion, error) {
	var messages []openai.ChatCompletionMessageParamUnion
	if r.System != "" {
		messages = append(messages, openai.SystemMessage(r.System))
	}
	for _, m := range r.Messages {
		switch {
		case m.Role == RoleAssistant:
			messages = append(messages, assistantMessage(m))
		case m.Role == RoleUser:
			messages = append(messages, openai.UserMessage(m.Content))
		case m.Role == RoleTool && m.CallID != "":
			messages = append(messages, openai.ToolMessage(m.Content, m.CallID))
		case m.Role == RoleTool:
			return nil, fault.New(fault.InvalidArgument, "a tool message of a model request names no call", "set CallID")
		default:
			return nil, fault.New(fault.InvalidArgument, "role "+quote(m.Role)+" of a model request is unknown", "use user, assistant or tool")
		}
	}
	if len(messages) == 0 {
		return nil, fault.Newf(fault.InvalidArgument, "the request of stage %q has no messages", r.Label.Stage)
	}
	return messages, nil
}

func assistantMessage(m Message) openai.ChatCompletionMessageParamUnion {
	if len(m.Calls) == 0 {
		return openai.AssistantMessage(m.Content)
	}
	var said openai.ChatCompletionAssistantMessageParam
	if m.Content != "" { // some endpoints refuse empty text next to calls
		said.Content.OfString = param.NewOpt(m.Content)
	}
	for _, call := range m.Calls {
		said.ToolCalls = append(said.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: call.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: call.Name, Arguments: echoed(call.Arguments)},
			},
		})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &said}
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

func toolsOf(r Request) ([]openai.ChatCompletionToolUnionParam, error) {
	var tools []openai.ChatCompletionToolUnionParam
	for _, tool := range r.Tools {
		definition := shared.FunctionDefinitionParam{Name: tool.Name}
		if tool.Name == "" {
			return nil, fault.Newf(fault.InvalidArgument, "a tool of stage %q has no name", r.Label.Stage)
		}
		if tool.Description != "" {
			definition.Description = param.NewOpt(tool.Description)
		}
		if tool.Schema != nil {
			var schema map[string]json.RawMessage // below the root the order of a schema is kept
			if json.Unmarshal(tool.Schema, &schema) != nil || schema == nil {
				return nil, fault.Newf(fault.InvalidArgument, "the schema of tool %q is no JSON object", tool.Name)
			}
			definition.Parameters = shared.FunctionParameters{}
			for key, value := range schema {
				definition.Parameters[key] = value
			}
		}
		tools = append(tools, openai.ChatCompletionFunctionTool(definition))
	}
	return tools, nil
}
