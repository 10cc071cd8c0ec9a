package openaiapi

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cairn/internal/domain/decoding"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/completion"
)

// chatRequest is the body of POST /v1/chat/completions. Members that are not listed are ignored.
type chatRequest struct {
	Model         string          `json:"model"`
	Messages      []chatMessage   `json:"messages"`
	Stream        bool            `json:"stream"`
	StreamOptions streamOptions   `json:"stream_options"`
	Tools         []chatTool      `json:"tools"`
	ToolChoice    json.RawMessage `json:"tool_choice"`
	Temperature   *float64        `json:"temperature"`
	MaxTokens     int             `json:"max_tokens"`
	MaxCompletion int             `json:"max_completion_tokens"`
	Stop          json.RawMessage `json:"stop"`
	N             *int            `json:"n"`
	Metadata      map[string]any  `json:"metadata"`

	TopP             *float64        `json:"top_p"`
	FrequencyPenalty *float64        `json:"frequency_penalty"`
	PresencePenalty  *float64        `json:"presence_penalty"`
	Seed             *int64          `json:"seed"`
	ReasoningEffort  string          `json:"reasoning_effort"`
	ParallelCalls    *bool           `json:"parallel_tool_calls"`
	ResponseFormat   json.RawMessage `json:"response_format"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type chatMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"` // a string, or a list of parts
	Name      string          `json:"name"`
	ToolCalls []chatCall      `json:"tool_calls"`
	CallID    string          `json:"tool_call_id"`
}

// chatCall is a call of a tool of the client.
type chatCall struct {
	Index    *int   `json:"index,omitempty"` // only in a stream
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// refused are the members of a request that Cairn rejects, and what to do instead.
var refused = map[string]string{
	"logprobs":           "omit it",
	"top_logprobs":       "omit it",
	"logit_bias":         "omit it",
	"audio":              "request text only",
	"functions":          "use tools",
	"function_call":      "use tool_choice",
	"prediction":         "omit it",
	"web_search_options": "omit it",
	"prompt":             "send instructions and input",
}

// members returns the members of the body, which it reads once.
func (c *call) members() (members map[string]json.RawMessage, err error) {
	if c.raw == nil {
		if c.raw, err = io.ReadAll(c.r.Body); err != nil {
			return nil, err
		}
	}
	release, err := decoding.Begin(c.r.Context(), len(c.raw))
	if err != nil {
		return nil, err
	}
	defer release()
	if err := json.Unmarshal(c.raw, &members); err != nil || members == nil {
		return nil, invalid("", "the body is not a JSON object: %.80q", c.raw)
	}
	return members, nil
}

// body reads the request into v, and returns its members.
func (c *call) body(v any) (members map[string]json.RawMessage, err error) {
	if members, err = c.members(); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		instead, no := refused[name]
		if value := string(bytes.TrimSpace(members[name])); no && value != "null" && value != "false" {
			return nil, unsupported(name, instead)
		}
	}
	release, err := decoding.Begin(c.r.Context(), len(c.raw))
	if err != nil {
		return nil, err
	}
	defer release()
	var typed *json.UnmarshalTypeError
	if err := json.Unmarshal(c.raw, v); errors.As(err, &typed) {
		return nil, invalid(typed.Field, "invalid type of %s: %s", typed.Field, typed.Value)
	} else if err != nil {
		return nil, invalid("", "invalid body: %v", err)
	}
	return members, nil
}

// person returns the user whom the body names. A request with the key of a gateway acts for this user.
func (c *call) person() (person string, err error) {
	members, err := c.members()
	if err != nil {
		return "", err
	}
	for _, name := range []string{"safety_identifier", "user"} {
		if json.Unmarshal(members[name], &person) == nil && person != "" {
			return person, nil
		}
	}
	return "", fault.New(fault.PersonRequired, "the key of a gateway acts for a user", "send the ID of the user in "+
		"the header X-Cairn-Person, or as safety_identifier or user in the body")
}

// request converts the request of a client.
func (c *call) request(in chatRequest, members map[string]json.RawMessage) (out completion.Request, err error) {
	spec := c.options.TurnSpec()
	if err := c.choose(&spec, in.Model); err != nil {
		return out, err
	}
	if in.N != nil && *in.N != 1 {
		return out, unsupported("n", "send several requests")
	}
	spec.Stream = in.Stream
	if err := in.options(&spec); err != nil {
		return out, err
	}
	if spec.Client.Tools, spec.Client.ToolChoice, err = c.tools(in.tools(), in.ToolChoice); err != nil {
		return out, err
	}
	out = completion.Request{Workspace: c.from.Workspace.ID, WorkspaceKey: c.from.Workspace.Key,
		Task: in.Model == taskModel}
	if spec.Client.Instructions, out.Messages, err = in.conversation(); err != nil {
		return out, err
	}
	if err := checkImages(spec, "messages", in.Model, out.Messages); err != nil && !out.Task { // a title needs no image
		return out, err
	}
	out.Spec = spec
	c.identify(&out, in.Metadata, members)
	return out, nil
}

// identify sets what names the conversation and the message.
func (c *call) identify(out *completion.Request, metadata map[string]any, members map[string]json.RawMessage) {
	own := func(name string) string {
		text, _ := metadata[name].(string)
		return text
	}
	header := c.r.Header
	webUI := header.Get("X-OpenWebUI-Chat-Id")
	out.Conversation = cmp.Or(header.Get("X-Cairn-Conversation"), webUI, own("conversation_id"))
	if out.Conversation == "new" { // LibreChat sends it with the first message
		out.Conversation = ""
	}
	out.Message = cmp.Or(header.Get("Idempotency-Key"), own("message_id"))
	// One message with the ID of a conversation is a new one. Open WebUI always sends the whole conversation.
	out.Whole = out.Conversation == "" || webUI != "" || len(out.Messages) > 1
	count, _ := strconv.Atoi(header.Get("X-Stainless-Retry-Count"))
	out.Repeated = count > 0
	if out.Message != "" {
		out.Body = shaOf([]any{"message", out.Conversation, out.Message})
		return
	}
	canonical, _ := json.Marshal(members) // decoded JSON always marshals
	var same any
	_ = json.Unmarshal(canonical, &same)
	out.Body = shaOf([]any{"body", out.Conversation, same})
}

// shaOf returns the hash of decoded JSON, whatever the order of its members.
func shaOf(v any) [32]byte {
	raw, _ := json.Marshal(v) // decoded JSON always marshals
	return sha256.Sum256(raw)
}

// conversation returns the instructions and the other messages.
func (in chatRequest) conversation() (instructions string, out []transcript.Message, err error) {
	if len(in.Messages) == 0 {
		return "", nil, invalid("messages", "messages is empty")
	}
	var all []string
	for i, m := range in.Messages {
		param := fmt.Sprintf("messages[%d]", i)
		text, images, err := contentOf(param+".content", m.Content, m.Role == string(transcript.User))
		if err != nil {
			return "", nil, err
		}
		one := transcript.Message{Role: transcript.Role(m.Role), Content: text, Name: m.Name, ToolCallID: m.CallID,
			Attachments: images}
		switch m.Role {
		case "system", "developer":
			all = append(all, text)
			continue
		case "user":
			one.ToolCallID = ""
		case "assistant":
			if one.ToolCalls, err = callsOf(param, m.ToolCalls); err != nil {
				return "", nil, err
			}
		case "tool":
			if m.CallID == "" {
				return "", nil, invalid(param+".tool_call_id", "tool message without tool_call_id")
			}
		default:
			return "", nil, invalid(
				param+".role",
				"role %.40q is not supported; use system, developer, user, assistant or tool",
				m.Role,
			)
		}
		out = append(out, one)
	}
	return strings.Join(all, "\n\n"), out, nil
}

func callsOf(param string, calls []chatCall) (out []transcript.ToolCall, err error) {
	for i, made := range calls {
		if made.ID == "" || made.Function.Name == "" {
			return nil, invalid(
				fmt.Sprintf("%s.tool_calls[%d]", param, i),
				"a call needs an id and a function with a name",
			)
		}
		out = append(
			out,
			transcript.ToolCall{ID: made.ID, Name: made.Function.Name, Arguments: made.Function.Arguments},
		)
	}
	return out, nil
}

// textOf reads the content of a message without images: a text, or a list of texts.
func textOf(param string, raw json.RawMessage) (text string, err error) {
	text, _, err = contentOf(param, raw, false)
	return text, err
}

// empty reports whether a member is missing or null.
func empty(raw json.RawMessage) bool { return len(raw) == 0 || string(bytes.TrimSpace(raw)) == "null" }

func isObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}
