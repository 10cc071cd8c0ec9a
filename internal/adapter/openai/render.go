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
	if r.JSON && out.ResponseFormat == nil && c.config.Structured != StructuredNone {
		out.ResponseFormat = &bodyFormat{Type: "json_object"}
	}
	mark := ""
	if r.CacheKey != "" {
		mark = c.config.cacheFor(r.Model)
	}
	if mark == CacheOpenAI {
		out.PromptCacheKey = r.CacheKey
	}
	if out.Messages, err = messagesOf(r, mark); err != nil {
		return out, err
	}
	if out.Tools, err = toolsOf(r); err != nil {
		return out, err
	}
	if out.ToolChoice, err = choiceOf(r); err != nil {
		return out, err
	}
	out.sample(r.Sampling)
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

// choiceOf returns tool_choice, nil for the default.
func choiceOf(r llm.Request) (any, error) {
	named := func(t llm.Tool) bool { return t.Name == string(r.ToolChoice) }
	switch {
	case r.ToolChoice == llm.ChooseAuto || len(r.Tools) == 0: // without tools, endpoints reject it
		return nil, nil
	case r.ToolChoice == llm.ChooseNone || r.ToolChoice == llm.ChooseAny:
		return string(r.ToolChoice), nil
	case slices.ContainsFunc(r.Tools, named):
		one := bodyChoice{Type: typeFunction}
		one.Function.Name = string(r.ToolChoice)
		return one, nil
	}
	return nil, fault.New(fault.InvalidArgument,
		"unknown tool choice "+quote(string(r.ToolChoice))+" of a model request",
		"use none, required or the name of a tool, or leave it empty")
}

// sample sets the options that are passed on unchanged.
func (b *body) sample(s llm.Sampling) {
	b.TopP, b.FrequencyPenalty, b.PresencePenalty, b.Seed = s.TopP, s.FrequencyPenalty, s.PresencePenalty, s.Seed
	b.Stop, b.ParallelToolCalls, b.ReasoningEffort = s.Stop, s.ParallelCalls, s.ReasoningEffort
	if len(b.Tools) == 0 { // without tools, endpoints reject it
		b.ParallelToolCalls = nil
	}
	if b.ResponseFormat == nil && s.Format != nil {
		b.ResponseFormat = s.Format
	}
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
