package openaiapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/completion"
)

// responseRequest is the body of POST /v1/responses. Members that are not listed are ignored.
type responseRequest struct {
	Model         string          `json:"model"`
	Input         json.RawMessage `json:"input"` // a text, or a list of items
	Instructions  *string         `json:"instructions"`
	Previous      *string         `json:"previous_response_id"`
	Conversation  json.RawMessage `json:"conversation"` // an ID, or an object with it
	Tools         []responseTool  `json:"tools"`
	ToolChoice    json.RawMessage `json:"tool_choice"`
	Text          responseFormat  `json:"text"`
	Reasoning     reasoning       `json:"reasoning"`
	Temperature   *float64        `json:"temperature"`
	TopP          *float64        `json:"top_p"`
	MaxOutput     *int            `json:"max_output_tokens"`
	ParallelCalls *bool           `json:"parallel_tool_calls"`
	Stream        bool            `json:"stream"`
	Background    bool            `json:"background"`
	Store         *bool           `json:"store"`
	User          *string         `json:"user"`
	Truncation    string          `json:"truncation"`
	Metadata      map[string]any  `json:"metadata"`
}

type responseTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

type responseFormat struct {
	Format json.RawMessage `json:"format"`
}

type reasoning struct {
	Effort string `json:"effort"`
}

// item is an element of the input: a message, a call of a tool, or its result.
type item struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// responseRequest converts the request of a client. It also returns what responses repeat of it.
func (c *call) responseRequest(in responseRequest, members map[string]json.RawMessage) (out completion.Request,
	shown response, err error) {
	if in.Model == taskModel {
		return out, shown, invalid("model", "%s answers chat completions only; use %s", taskModel, defaultModel)
	}
	spec := c.options.TurnSpec()
	if err := c.choose(&spec, in.Model); err != nil {
		return out, shown, err
	}
	spec.Stream = in.Stream || in.Background
	if err := in.options(&spec); err != nil {
		return out, shown, err
	}
	if spec.Client.Tools, spec.Client.ToolChoice, err = c.tools(in.tools(), in.ToolChoice); err != nil {
		return out, shown, err
	}
	out = completion.Request{Workspace: c.from.Workspace.ID, WorkspaceKey: c.from.Workspace.Key}
	if spec.Client.Instructions, out.Messages, err = in.messages(); err != nil {
		return out, shown, err
	}
	if err := checkImages(spec, "input", in.Model, out.Messages); err != nil {
		return out, shown, err
	}
	c.identify(&out, in.Metadata, members)
	if err := in.place(&out); err != nil {
		return out, shown, err
	}
	if shown, err = in.shown(members); err != nil {
		return out, shown, err
	}
	if shown.Store {
		if spec.Client.Response, err = json.Marshal(shown); err != nil {
			return out, shown, fmt.Errorf("encode the response: %w", err)
		}
	} else if shown.Background {
		return out, shown, invalid("store", "a response with background is stored; omit store")
	}
	out.Spec = spec
	return out, shown, nil
}

// place sets the conversation that the request names, itself or by its previous response.
func (in responseRequest) place(out *completion.Request) error {
	var id string
	var object struct{ ID string }
	switch {
	case empty(in.Conversation):
	case json.Unmarshal(in.Conversation, &id) == nil && id != "":
	case json.Unmarshal(in.Conversation, &object) == nil && object.ID != "":
		id = object.ID
	default:
		return invalid("conversation", "conversation must be an ID, or an object with an id")
	}
	if id != "" { // the input has only new items
		out.Conversation, out.Whole = id, false
	}
	if in.Previous == nil || *in.Previous == "" {
		return nil
	}
	if id != "" {
		return invalid("previous_response_id", "send either conversation or previous_response_id")
	}
	out.After, out.Conversation, out.Whole = runOf(*in.Previous), "", false
	return nil
}

// options pins the options of the model call.
func (in responseRequest) options(spec *agentrun.Spec) (err error) {
	for _, o := range []number{{"temperature", in.Temperature, 0, 2}, {"top_p", in.TopP, 0, 1}} {
		if err := o.check(); err != nil {
			return err
		}
	}
	if in.MaxOutput != nil {
		if err := limitReply(spec, "max_output_tokens", *in.MaxOutput); err != nil {
			return err
		}
	}
	spec.Client.Temperature = in.Temperature
	spec.Client.Sampling = llm.Sampling{TopP: in.TopP, ReasoningEffort: in.Reasoning.Effort,
		ParallelCalls: in.ParallelCalls}
	spec.Client.Sampling.Format, err = in.format()
	return err
}

// format returns the format of the reply in the form of chat completions, which has the schema in an object.
func (in responseRequest) format() (json.RawMessage, error) {
	var format map[string]json.RawMessage
	if err := json.Unmarshal(in.Text.Format, &format); err != nil || string(format["type"]) != `"json_schema"` {
		return formatOf("text.format", in.Text.Format)
	}
	kind := format["type"]
	delete(format, "type")
	raw, err := json.Marshal(map[string]any{"type": kind, "json_schema": format})
	if err != nil {
		return nil, fmt.Errorf("encode the format: %w", err)
	}
	return formatOf("text.format", raw)
}

func (in responseRequest) tools() (all []clientTool) {
	for i, t := range in.Tools {
		all = append(all, clientTool{fmt.Sprintf("tools[%d]", i), t.Type, t.Name, t.Description, t.Parameters})
	}
	return all
}

// messages returns the instructions and the messages of the input.
func (in responseRequest) messages() (instructions string, out []transcript.Message, err error) {
	var all []string
	if in.Instructions != nil && *in.Instructions != "" {
		all = append(all, *in.Instructions)
	}
	var text string
	if json.Unmarshal(in.Input, &text) == nil && text != "" {
		return strings.Join(all, "\n\n"), []transcript.Message{{Role: transcript.User, Content: text}}, nil
	}
	var items []item
	if json.Unmarshal(in.Input, &items) != nil || len(items) == 0 {
		return "", nil, invalid("input", "input must be a text, or a list of items")
	}
	for i, it := range items {
		m, err := it.message(fmt.Sprintf("input[%d]", i))
		if err != nil {
			return "", nil, err
		}
		switch m.Role {
		case transcript.System:
			all = append(all, m.Content)
		case "": // nothing that a transcript has
		default:
			out = append(out, m)
		}
	}
	return strings.Join(all, "\n\n"), out, nil
}

// message converts an item. Reasoning of a model becomes a message without a role.
func (it item) message(param string) (out transcript.Message, err error) {
	switch it.Type {
	case "", "message":
		roles := map[string]transcript.Role{"system": transcript.System, "developer": transcript.System,
			"user": transcript.User, "assistant": transcript.Assistant}
		known := false
		if out.Role, known = roles[it.Role]; !known {
			return out, invalid(param+".role", "role %.40q is not supported; use system, developer, user or assistant",
				it.Role)
		}
		out.Content, out.Attachments, err = contentOf(param+".content", it.Content, out.Role == transcript.User)
	case "function_call":
		if it.CallID == "" || it.Name == "" {
			return out, invalid(param, "a call needs a call_id and a name")
		}
		out.Role = transcript.Assistant
		out.ToolCalls = []transcript.ToolCall{{ID: it.CallID, Name: it.Name, Arguments: it.Arguments}}
	case "function_call_output":
		if it.CallID == "" {
			return out, invalid(param+".call_id", "a result needs a call_id")
		}
		out.Role, out.ToolCallID = transcript.Tool, it.CallID
		out.Content, err = textOf(param+".output", it.Output)
	case "reasoning":
	default:
		return out, invalid(param+".type", "type %.40q is not supported; use message, function_call or "+
			"function_call_output", it.Type)
	}
	return out, err
}

// shown returns what responses repeat of the request.
func (in responseRequest) shown(members map[string]json.RawMessage) (response, error) {
	or := func(name, usual string) json.RawMessage {
		if raw := members[name]; !empty(raw) {
			var compact bytes.Buffer
			if json.Compact(&compact, raw) == nil {
				return compact.Bytes()
			}
		}
		return json.RawMessage(usual)
	}
	out := response{Background: in.Background, Instructions: in.Instructions, MaxOutput: in.MaxOutput, Model: in.Model,
		Parallel: in.ParallelCalls == nil || *in.ParallelCalls, Previous: in.Previous,
		Reasoning: or("reasoning", `{"effort":null,"summary":null}`), Store: in.Store == nil || *in.Store,
		Temperature: in.Temperature, Text: or("text", `{"format":{"type":"text"}}`),
		ToolChoice: or("tool_choice", `"auto"`), Tools: or("tools", `[]`), TopP: in.TopP, Truncation: "disabled",
		User: in.User, Metadata: or("metadata", `{}`)}
	if in.Truncation != "" && in.Truncation != "disabled" && in.Truncation != "auto" {
		return out, invalid("truncation", "truncation is %.40q, must be auto or disabled", in.Truncation)
	}
	if len(in.Metadata) > 16 {
		return out, invalid("metadata", "metadata has %d keys, the limit is 16", len(in.Metadata))
	}
	return out, nil
}
