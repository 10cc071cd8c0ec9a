package offline

import (
	"encoding/json"
	"fmt"
	"regexp"

	"cairn/internal/llm/offline/notice"
	"cairn/internal/prompt"
)

// request is what the rules may look at, and all they may look at.
type request struct {
	material prompt.Material
	schema   *schema // nil when text or a tool call is wanted
	tools    []tool
	choice   string        // auto, none, required, or the tool that must be called
	sent     []notice.Call // tool calls of earlier rounds of this request
}

type tool struct {
	Name       string  `json:"name"`
	Parameters *schema `json:"parameters"`
}

// wire is the part of a chat completion request that is read.
type wire struct {
	Messages []struct {
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		ToolCalls []struct {
			Function struct{ Name, Arguments string } `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Stream bool `json:"stream"`
	Tools  []struct {
		Function tool `json:"function"`
	} `json:"tools"`
	ToolChoice     json.RawMessage `json:"tool_choice"`
	ResponseFormat struct {
		JSONSchema struct {
			Schema *schema `json:"schema"`
		} `json:"json_schema"`
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
	req := request{schema: in.ResponseFormat.JSONSchema.Schema, choice: choiceOf(in.ToolChoice)}
	for _, offered := range in.Tools {
		req.tools = append(req.tools, offered.Function)
	}
	found := false
	for i, message := range in.Messages {
		text := contentText(message.Content)
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

// choiceOf reads tool_choice: a word, or the tool that must be called.
func choiceOf(raw json.RawMessage) string {
	var word string
	var named struct{ Function struct{ Name string } }
	if json.Unmarshal(raw, &word) != nil && json.Unmarshal(raw, &named) == nil {
		return named.Function.Name
	}
	return word // empty is auto
}

// contentText reads a message's content: a string, or parts with text.
func contentText(raw json.RawMessage) string {
	var text string
	var parts []struct{ Text string }
	if json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &parts) == nil {
		for _, part := range parts {
			text += part.Text
		}
	}
	return text
}

var fenced = regexp.MustCompile("(?s)```(?:json)?\\s*\\n(.*?)\\n```")

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
