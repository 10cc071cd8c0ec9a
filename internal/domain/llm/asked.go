package llm

import (
	"encoding/json"
	"strings"
)

// RoleSystem is the role of the instructions in a ParsedRequest.
const RoleSystem = "system"

// ParsedRequest is a chat completion request as the server reads it.
type ParsedRequest struct {
	Model        string
	Messages     []Message // the instructions first, as RoleSystem
	Tools        []Tool
	ToolChoice   ToolChoice      // none, auto, required, or the name of the tool that must be called
	Schema       json.RawMessage // schema of response_format, or nil
	Stream       bool
	IncludeUsage bool // send usage at the end of the stream
}

// contentPart is a text or an image of a message.
type contentPart struct {
	Text  string
	Image *Image `json:"image_url"`
}

// ReadAsked parses a request body. It is the inverse of Client.Prepare, and also parses requests of
// other clients.
func ReadAsked(body []byte) (ParsedRequest, error) {
	var in struct {
		Model    string
		Messages []struct {
			Role      string
			Content   json.RawMessage
			CallID    string `json:"tool_call_id"`
			ToolCalls []struct {
				ID       string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Tools []struct {
			Function struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
		ToolChoice     json.RawMessage `json:"tool_choice"`
		ResponseFormat struct {
			JSONSchema struct{ Schema json.RawMessage } `json:"json_schema"`
		} `json:"response_format"`
		Stream        bool
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return ParsedRequest{}, err
	}
	out := ParsedRequest{Model: in.Model, Schema: in.ResponseFormat.JSONSchema.Schema, Stream: in.Stream,
		IncludeUsage: in.StreamOptions.IncludeUsage}
	for _, m := range in.Messages {
		message := Message{Role: m.Role, CallID: m.CallID}
		var parts []contentPart
		message.Content, parts = textOr[[]contentPart](m.Content)
		for _, part := range parts {
			message.Content += part.Text
			if part.Image != nil {
				message.Images = append(message.Images, *part.Image)
			}
		}
		for _, made := range m.ToolCalls {
			message.Calls = append(message.Calls,
				ToolCall{ID: made.ID, Name: made.Function.Name, Arguments: made.Function.Arguments})
		}
		out.Messages = append(out.Messages, message)
	}
	for _, offered := range in.Tools {
		out.Tools = append(out.Tools, Tool{Name: offered.Function.Name, Description: offered.Function.Description,
			Schema: offered.Function.Parameters})
	}
	choice, named := textOr[struct{ Function struct{ Name string } }](in.ToolChoice)
	out.ToolChoice = ToolChoice(choice + named.Function.Name)
	return out, nil
}

// textOr decodes raw as a string, or else as a T.
func textOr[T any](raw json.RawMessage) (text string, other T) {
	if json.Unmarshal(raw, &text) != nil {
		_ = json.Unmarshal(raw, &other) // if this fails too, both results are empty
	}
	return text, other
}

// words returns the text of the conversation and of its tools, for an estimate of tokens.
func (a ParsedRequest) words() string {
	var words strings.Builder
	for _, message := range a.Messages {
		words.WriteString(message.Content)
	}
	for _, tool := range a.Tools {
		words.WriteString(tool.Name + tool.Description + string(tool.Schema))
	}
	for _, message := range a.Messages {
		for _, call := range message.Calls {
			words.WriteString(call.Name + call.Arguments)
		}
	}
	return words.String()
}
