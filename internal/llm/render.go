package llm

import (
	"encoding/json"
	"net/url"
	"slices"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"cairn/internal/fault"
)

func (c *Client) render(r Request) (openai.ChatCompletionNewParams, error) {
	var params openai.ChatCompletionNewParams
	if r.Model == "" {
		return params, fault.New(fault.Misconfigured, "no model is named for stage "+quote(r.Label.Stage), "set CAIRN_MODEL")
	}
	if r.Schema != nil && !json.Valid(r.Schema.JSON) {
		return params, fault.Newf(fault.InvalidArgument, "the schema %q of stage %q is not JSON", r.Schema.Name, r.Label.Stage)
	}
	params.Model = r.Model
	if r.Schema != nil {
		switch c.config.Structured {
		case StructuredNone:
			r = WithoutSchema(r)
		case StructuredObject:
			r = WithoutSchema(r)
			params.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		default:
			strict := c.config.Structured == StructuredSchema || strictable(r.Schema.JSON)
			params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
				JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
					Name: r.Schema.Name, Strict: param.NewOpt(strict), Schema: r.Schema.JSON,
				},
			}
		}
	}
	messages, err := messagesOf(r)
	if err != nil {
		return params, err
	}
	params.Messages = messages
	if r.MaxTokens > 0 {
		// OpenAI's reasoning models refuse max_tokens; many other servers know nothing else.
		if base, err := url.Parse(c.config.base()); err == nil && base.Hostname() == "api.openai.com" {
			params.MaxCompletionTokens = param.NewOpt(int64(r.MaxTokens))
		} else {
			params.MaxTokens = param.NewOpt(int64(r.MaxTokens))
		}
	}
	return params, nil
}

func messagesOf(r Request) ([]openai.ChatCompletionMessageParamUnion, error) {
	var messages []openai.ChatCompletionMessageParamUnion
	if r.System != "" {
		messages = append(messages, openai.SystemMessage(r.System))
	}
	if r.User != "" {
		messages = append(messages, openai.UserMessage(r.User))
	}
	for _, turn := range r.Turns {
		switch turn.Role {
		case "assistant":
			messages = append(messages, openai.AssistantMessage(turn.Content))
		case "user":
			messages = append(messages, openai.UserMessage(turn.Content))
		default:
			return nil, fault.New(fault.InvalidArgument, "turn "+quote(turn.Role)+" of a model request has an unknown role", "use assistant or user")
		}
	}
	if len(messages) == 0 {
		return nil, fault.Newf(fault.InvalidArgument, "the request of stage %q has no messages", r.Label.Stage)
	}
	return messages, nil
}

// WithoutSchema moves r's schema into the system message as text: what an
// endpoint without structured output gets, and what to send after a NoSchema.
func WithoutSchema(r Request) Request {
	if r.Schema == nil {
		return r
	}
	wording := wordingFor(r.System)
	separator := ""
	if r.System != "" {
		separator = "\n\n"
	}
	r.System += separator + wording.schema + "\n" + string(r.Schema.JSON)
	r.Schema = nil
	return r
}

// strictable tells whether every object of a schema lists all its properties
// as required and forbids others, which is what strict mode asks for.
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
