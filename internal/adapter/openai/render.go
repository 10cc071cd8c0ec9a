package openai

import (
	"encoding/json"
	"net/url"
	"slices"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
)

func (c *Client) render(r llm.Request) (out body, err error) {
	if r.Model == "" {
		return out, fault.New(fault.Misconfigured, "no model configured for stage "+quote(r.Label.Stage),
			"set CAIRN_MODEL")
	}
	if r.Schema != nil && !json.Valid(r.Schema.JSON) {
		return out, fault.Newf(fault.InvalidArgument, "schema %q of stage %q is not JSON", r.Schema.Name,
			r.Label.Stage)
	}
	out.Model = r.Model
	if r.Schema != nil {
		switch c.config.Structured {
		case StructuredNone:
			r = llm.WithoutSchema(r)
		case StructuredObject:
			r = llm.WithoutSchema(r)
			out.ResponseFormat = &bodyFormat{Type: "json_object"}
		default:
			strict := c.config.Structured == StructuredSchema || strictable(r.Schema.JSON)
			out.ResponseFormat = &bodyFormat{Type: "json_schema",
				Schema: &bodySchema{Name: r.Schema.Name, Strict: strict, Schema: r.Schema.JSON}}
		}
	}
	if out.Messages, err = messagesOf(r); err != nil {
		return out, err
	}
	if out.Tools, err = toolsOf(r); err != nil {
		return out, err
	}
	switch {
	case r.ToolChoice == llm.ChooseNone && len(r.Tools) > 0: // without tools, endpoints reject it
		out.ToolChoice = string(llm.ChooseNone)
	case r.ToolChoice != llm.ChooseAuto && r.ToolChoice != llm.ChooseNone:
		return out, fault.New(fault.InvalidArgument,
			"unknown tool choice "+quote(string(r.ToolChoice))+" of a model request", "use none, or leave it empty")
	}
	if r.NoReasoning {
		out.ReasoningEffort = "none"
	}
	out.Temperature = r.Temperature
	if r.Stream {
		out.Stream, out.StreamOptions = true, &bodyStream{IncludeUsage: true}
	}
	if r.MaxTokens > 0 {
		// OpenAI's reasoning models reject max_tokens; many other servers support only that.
		if base, err := url.Parse(c.config.base()); err == nil && base.Hostname() == "api.openai.com" {
			out.MaxCompletionTokens = r.MaxTokens
		} else {
			out.MaxTokens = r.MaxTokens
		}
	}
	return out, nil
}

// strictable reports whether every object of a schema lists all its properties as required and
// forbids others, as strict mode requires.
func strictable(schema json.RawMessage) bool {
	var node any
	if json.Unmarshal(schema, &node) != nil {
		return false
	}
	return strictNode(node)
}

func strictNode(node any) bool {
	switch node := node.(type) {
	case []any:
		return !slices.ContainsFunc(node, func(item any) bool { return !strictNode(item) })
	case map[string]any:
		if properties, ok := node["properties"].(map[string]any); ok {
			required, _ := node["required"].([]any)
			if node["additionalProperties"] != false || len(required) != len(properties) {
				return false
			}
		} else if node["type"] == "object" {
			return false
		}
		for _, child := range node {
			if !strictNode(child) {
				return false
			}
		}
	}
	return true
}
