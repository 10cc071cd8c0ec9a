package openai

import (
	"encoding/json"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/llm"
)

// body is a chat completion request on the wire. A test checks that it equals, byte for byte, what
// the SDK's parameters render to. For a long conversation, rendering by the SDK took a third of an
// agent step's own time: every part encodes itself and is checked again at each level above.
type body struct {
	Messages            []bodyMessage `json:"messages"`
	Model               string        `json:"model"`
	FrequencyPenalty    *float64      `json:"frequency_penalty,omitzero"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitzero"`
	MaxTokens           int           `json:"max_tokens,omitzero"`
	PresencePenalty     *float64      `json:"presence_penalty,omitzero"`
	PromptCacheKey      string        `json:"prompt_cache_key,omitzero"`
	Seed                *int64        `json:"seed,omitzero"`
	Temperature         *float64      `json:"temperature,omitzero"`
	TopP                *float64      `json:"top_p,omitzero"`
	ParallelToolCalls   *bool         `json:"parallel_tool_calls,omitzero"`
	ReasoningEffort     string        `json:"reasoning_effort,omitzero"`
	Stop                []string      `json:"stop,omitzero"`
	StreamOptions       *bodyStream   `json:"stream_options,omitzero"`
	ResponseFormat      any           `json:"response_format,omitzero"` // *bodyFormat, or the caller's JSON
	ToolChoice          any           `json:"tool_choice,omitzero"`     // a word, or bodyChoice
	Tools               []bodyTool    `json:"tools,omitzero"`
	Stream              bool          `json:"stream,omitzero"` // last, as in the SDK; see streamed
}

// bodyChoice names the tool that the model must call.
type bodyChoice struct {
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
	Type string `json:"type"`
}

type bodyStream struct {
	IncludeUsage bool `json:"include_usage"`
}

type bodyMessage struct {
	Content   any        `json:"content,omitempty"` // *string, []bodyPart or nil
	ToolCalls []bodyCall `json:"tool_calls,omitzero"`
	CallID    string     `json:"tool_call_id,omitzero"`
	Role      string     `json:"role"`
}

// bodyPart is a text or an image of a message.
type bodyPart struct {
	Text       *string     `json:"text,omitzero"`
	Breakpoint *breakpoint `json:"prompt_cache_breakpoint,omitzero"`
	Image      *llm.Image  `json:"image_url,omitzero"`
	Type       string      `json:"type"`
	// Anthropic's mark of the end of a prefix, which the SDK sends as an extra field.
	CacheControl *cacheControl `json:"cache_control,omitzero"`
}

// breakpoint is OpenAI's mark of the end of a prefix.
type breakpoint struct {
	Mode string `json:"mode"` // explicit
}

type cacheControl struct {
	Type string `json:"type"` // ephemeral
}

// prefixOf returns the content of a message with a prefix. Without a mark, both texts are one.
func prefixOf(m *llm.Message, mark string) any {
	first := bodyPart{Type: "text", Text: &m.Prefix}
	switch mark {
	case CacheOpenAI:
		first.Breakpoint = &breakpoint{Mode: "explicit"}
	case CacheAnthropic:
		first.CacheControl = &cacheControl{Type: "ephemeral"}
	default:
		whole := m.Prefix + m.Content
		return &whole
	}
	return append([]bodyPart{first}, partsOf(m)...)
}

// partsOf returns the content of a message with images.
func partsOf(m *llm.Message) (out []bodyPart) {
	if m.Content != "" {
		out = append(out, bodyPart{Type: "text", Text: &m.Content})
	}
	for i := range m.Images {
		out = append(out, bodyPart{Type: "image_url", Image: &m.Images[i]})
	}
	return out
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
		// keeps the order of a schema below the root
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

// messagesOf renders the messages. mark is the kind of mark after their prefixes: CacheOpenAI,
// CacheAnthropic or none.
func messagesOf(r llm.Request, mark string) ([]bodyMessage, error) {
	messages := make([]bodyMessage, 0, len(r.Messages)+1)
	if r.System != "" {
		messages = append(messages, bodyMessage{Role: llm.RoleSystem, Content: &r.System})
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		out := bodyMessage{Role: m.Role, Content: &m.Content}
		switch {
		case m.Role == llm.RoleAssistant:
			if m.Content == "" && len(m.Calls) > 0 { // some endpoints reject empty text next to calls
				out.Content = nil
			}
			out.ToolCalls = callsBody(m.Calls)
		case m.Role == llm.RoleUser:
			switch {
			case m.Prefix != "":
				out.Content = prefixOf(m, mark)
			case len(m.Images) > 0:
				out.Content = partsOf(m)
			}
		case m.Role == llm.RoleTool && m.CallID != "":
			out.CallID = m.CallID
		case m.Role == llm.RoleTool:
			return nil, fault.New(fault.InvalidArgument, "tool message of a model request has no call ID",
				"set CallID")
		default:
			return nil, fault.New(fault.InvalidArgument, "unknown role "+quote(m.Role)+" of a model request",
				"use user, assistant or tool")
		}
		messages = append(messages, out)
	}
	if len(messages) == 0 {
		return nil, fault.Newf(fault.InvalidArgument, "model request of stage %q has no messages", r.Label.Stage)
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

// echoed returns the arguments that the model wrote, in the form in which they are sent back to it.
// Endpoints parse them again, and invalid ones would fail every later request.
func echoed(arguments string) string {
	var object map[string]json.RawMessage
	switch {
	case arguments == "":
		return "{}"
	case json.Unmarshal([]byte(arguments), &object) == nil && object != nil:
		return arguments
	}
	wrapped, _ := json.Marshal(map[string]string{"not_json": arguments}) // a string always marshals
	return string(wrapped)
}

func toolsOf(r llm.Request) ([]bodyTool, error) {
	var tools []bodyTool
	for _, tool := range r.Tools {
		if tool.Name == "" {
			return nil, fault.Newf(fault.InvalidArgument, "tool of stage %q has no name", r.Label.Stage)
		}
		out := bodyTool{Type: typeFunction}
		out.Function.Name, out.Function.Description = tool.Name, tool.Description
		if tool.Schema != nil && (json.Unmarshal(tool.Schema, &out.Function.Parameters) != nil ||
			out.Function.Parameters == nil) {
			return nil, fault.Newf(fault.InvalidArgument, "schema of tool %q must be a JSON object", tool.Name)
		}
		tools = append(tools, out)
	}
	return tools, nil
}
