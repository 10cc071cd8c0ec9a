package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Tool describes a tool of Cairn for a model.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input"`     // JSON Schema of the arguments
	ReadOnly    bool            `json:"read_only"` // the tool changes nothing
}

// ToolCall is a tool call of a model.
type ToolCall struct {
	ID        string // the model's ID of the call, which the tool message repeats
	Name      string // name of the tool
	Arguments string // a JSON object; empty means {}
}

// Tools is a set of Cairn's tools for an agent of your program. Pass Definitions to the
// model, and run the model's tool calls with Call. A nil *Tools is empty. It is safe for
// concurrent use.
type Tools struct {
	client *Client
	list   []Tool
	within time.Duration // time limit of one call; 0 means no limit
}

// MemoryTools lists the default tools of an agent.
var MemoryTools = []string{"memory_search", "memory_save", "read_meta_memory", "vector_retrieve_memory",
	"read_history_memory"}

// Tools returns tools by name, or MemoryTools if there are no names. It returns [ErrNotFound]
// if a tool does not exist.
func (c *Client) Tools(ctx context.Context, names ...string) (*Tools, error) {
	if len(names) == 0 {
		names = MemoryTools
	}
	var all struct {
		Tools []Tool `json:"tools"`
	}
	if err := c.call(ctx, http.MethodGet, "/v1/tools", nil, &all, ""); err != nil {
		return nil, err
	}
	out := &Tools{client: c}
	for _, name := range names {
		i := slices.IndexFunc(all.Tools, func(t Tool) bool { return t.Name == name })
		if i < 0 {
			return nil, &Error{Code: ErrNotFound.Code, Message: "unknown tool " + name,
				Hint: "list tools with GET /v1/tools"}
		}
		out.list = append(out.list, all.Tools[i])
	}
	return out, nil
}

// List returns the tools in the order of their names in [Client.Tools].
func (t *Tools) List() []Tool {
	if t == nil {
		return nil
	}
	return slices.Clone(t.list)
}

// Has reports whether the set has a tool with this name.
func (t *Tools) Has(name string) bool {
	return slices.ContainsFunc(t.List(), func(one Tool) bool { return one.Name == name })
}

// Definitions returns the tools in the form of the OpenAI chat API.
func (t *Tools) Definitions() []any {
	var out []any
	for _, one := range t.List() {
		out = append(out, map[string]any{"type": "function",
			"function": map[string]any{"name": one.Name, "description": one.Description, "parameters": one.Input}})
	}
	return out
}

// Call runs a tool call and returns the tool message for the model. If the call fails, the
// message contains the error with its code and hint, so that the model can react to it.
// Retries of a call take effect once, as do calls with the same [RequestID].
func (t *Tools) Call(ctx context.Context, call ToolCall, options ...Option) Message {
	answer := Message{Role: "tool", Name: call.Name, ToolCallID: call.ID}
	raw, err := t.do(ctx, call, options)
	if err != nil {
		raw = failure(err)
	}
	answer.Content = string(raw)
	return answer
}

func (t *Tools) do(ctx context.Context, call ToolCall, options []Option) (out json.RawMessage, err error) {
	if !t.Has(call.Name) {
		var known []string
		for _, one := range t.List() {
			known = append(known, one.Name)
		}
		return nil, &Error{Code: "unknown_tool", Message: "unknown tool " + call.Name,
			Hint: "use one of " + strings.Join(known, ", ")}
	}
	arguments := json.RawMessage(cmp.Or(strings.TrimSpace(call.Arguments), "{}"))
	if !json.Valid(arguments) {
		return nil, &Error{Code: ErrInvalidArgument.Code, Message: "invalid JSON in the arguments",
			Hint: "send one JSON object that matches the tool's schema"}
	}
	if t.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.within)
		defer cancel()
	}
	return out, t.client.call(ctx, http.MethodPost, "/v1/tools/"+url.PathEscape(call.Name), arguments, &out,
		t.client.usual.with(options).once())
}

// failure returns an error as the result of a tool.
func failure(err error) json.RawMessage {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Code: ErrUnavailable.Code, Message: err.Error(), Hint: "continue without the tool", Retryable: true}
	}
	members := map[string]any{}
	for name, fact := range e.Extra {
		members[name] = fact
	}
	members["code"], members["message"], members["hint"], members["retryable"] = e.Code, e.Message, e.Hint, e.Retryable
	raw, _ := json.Marshal(map[string]any{"ok": false, "error": members}) // cannot fail: Extra was decoded from JSON
	return raw
}

type toolsKey struct{}

// ToolsOf returns the tools that a hook provides to its agent in the modes HookTools and
// HookBoth. Otherwise it returns nil, which is an empty set.
func ToolsOf(ctx context.Context) *Tools {
	t, _ := ctx.Value(toolsKey{}).(*Tools)
	return t
}
