package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"

	"cairn/internal/llm/offline/notice"
	"cairn/internal/prompt"
)

// request is what the rules may look at, and all they may look at.
type request struct {
	material prompt.Material
	schema   *schema       // nil when text or a tool call is wanted
	tools    []tool        // those that may be called
	must     bool          // one of the tools has to be called
	sent     []notice.Call // tool calls of earlier rounds of this request
}

type tool struct {
	Name       string
	Parameters *schema
}

// wire is the part of a chat completion request that is read.
type wire struct {
	Messages []struct {
		Role      string
		Content   json.RawMessage
		ToolCalls []struct {
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	Stream         bool
	Tools          []struct{ Function tool }
	ToolChoice     json.RawMessage `json:"tool_choice"`
	ResponseFormat struct {
		JSONSchema struct{ Schema *schema } `json:"json_schema"`
	} `json:"response_format"`
}

func read(body []byte) (request, error) {
	var in wire
	if err := json.Unmarshal(body, &in); err != nil {
		return request{}, fmt.Errorf("decode the request: %w", err)
	}
	if in.Stream {
		return request{}, fmt.Errorf("the offline model does not stream; send stream: false")
	}
	if len(in.Messages) == 0 {
		return request{}, fmt.Errorf("the request has no messages")
	}
	choice, named := textOr[struct{ Function struct{ Name string } }](in.ToolChoice)
	choice = cmp.Or(choice, named.Function.Name, "auto")
	req := request{schema: in.ResponseFormat.JSONSchema.Schema, must: choice != "auto"}
	for _, offered := range in.Tools {
		if t := offered.Function; t.Parameters != nil && (choice == "auto" || choice == "required" || choice == t.Name) {
			req.tools = append(req.tools, t)
		}
	}
	found := false
	for i, message := range in.Messages {
		text, parts := textOr[[]struct{ Text string }](message.Content)
		for _, part := range parts {
			text += part.Text
		}
		for _, made := range message.ToolCalls {
			req.sent = append(req.sent, notice.Call{Tool: made.Function.Name, Arguments: made.Function.Arguments})
		}
		switch m, err := prompt.ReadMaterial(text); {
		case message.Role == "system" && req.schema == nil:
			req.schema = fencedSchema(text)
		case message.Role == "user" && err == nil && !found:
			req.material, found = m, true
		case !found && message.Role != "system" && text != "": // a plain chat is a transcript
			req.material.Messages = append(req.material.Messages, prompt.Message{Index: i, Role: message.Role, Content: text})
			if message.Role == "user" {
				req.material.Question = text
			}
		case found && message.Role == "tool":
			req.material.Memories = append(req.material.Memories, text)
		}
	}
	return req, nil
}

// textOr reads what may be a string or something else.
func textOr[T any](raw json.RawMessage) (text string, other T) {
	if json.Unmarshal(raw, &text) != nil {
		_ = json.Unmarshal(raw, &other) // neither is nothing
	}
	return text, other
}

var fenced = regexp.MustCompile("(?s)```\\w*\\s*\\n(.*?)\\n```")

// fencedSchema finds the schema that a caller wrote into the instructions of
// an endpoint without response_format.
func fencedSchema(system string) *schema {
	for _, match := range fenced.FindAllStringSubmatch(system, -1) {
		var s schema
		if json.Unmarshal([]byte(match[1]), &s) == nil && len(s.Properties) > 0 {
			return &s
		}
	}
	return nil
}
