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

// Tool is something that Cairn does for an agent, as the agent's model is told of it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input"` // JSON Schema of the arguments
	ReadOnly    bool            `json:"read_only"`
}

// ToolCall is what a model wants done.
type ToolCall struct {
	ID        string // of the model's; the tool message that answers carries it
	Name      string
	Arguments string // a JSON object; empty for none
}

// Tools are tools of Cairn for an agent of the program's own: Definitions tells its
// model of them, and Call does what the model calls. A nil *Tools has none.
type Tools struct {
	client *Client
	list   []Tool
	within time.Duration // of one call; 0 is no bound
}

// MemoryTools are the tools of memory that an agent is given that names none.
var MemoryTools = []string{"memory_search", "memory_save", "read_meta_memory", "vector_retrieve_memory",
	"read_history_memory"}

// Tools asks for tools by their names; without names they are MemoryTools. One
// that Cairn does not have is ErrNotFound.
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
			return nil, &Error{Code: ErrNotFound.Code, Message: "Cairn offers no tool " + name,
				Hint: "GET /v1/tools lists them"}
		}
		out.list = append(out.list, all.Tools[i])
	}
	return out, nil
}

// List has the tools in their order.
func (t *Tools) List() []Tool {
	if t == nil {
		return nil
	}
	return slices.Clone(t.list)
}

// Has tells whether a call of that name is for Call.
func (t *Tools) Has(name string) bool {
	return slices.ContainsFunc(t.List(), func(one Tool) bool { return one.Name == name })
}

// Definitions are the tools as a request to an OpenAI-compatible endpoint has them.
func (t *Tools) Definitions() []any {
	var out []any
	for _, one := range t.List() {
		out = append(out, map[string]any{"type": "function",
			"function": map[string]any{"name": one.Name, "description": one.Description, "parameters": one.Input}})
	}
	return out
}

// Call does what a model calls and returns the tool message that answers it, with
// the tool's name. What went wrong stands in the message, with code and hint, for
// the model to act on. A change is done once, however often it is sent on the way;
// with RequestID calls with the same id are the same.
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
		return nil, &Error{Code: "unknown_tool", Message: "there is no tool " + call.Name,
			Hint: "use one of " + strings.Join(known, ", ")}
	}
	arguments := json.RawMessage(cmp.Or(strings.TrimSpace(call.Arguments), "{}"))
	if !json.Valid(arguments) {
		return nil, &Error{Code: ErrInvalidArgument.Code, Message: "the arguments are no JSON",
			Hint: "send one JSON object that fits the tool's schema"}
	}
	if t.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.within)
		defer cancel()
	}
	return out, t.client.call(ctx, http.MethodPost, "/v1/tools/"+url.PathEscape(call.Name), arguments, &out,
		t.client.usual.with(options).once())
}

// failure is an error as Cairn's own agents are told of it.
func failure(err error) json.RawMessage {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Code: ErrUnavailable.Code, Message: err.Error(), Hint: "go on without it", Retryable: true}
	}
	told := map[string]any{}
	for name, fact := range e.Extra {
		told[name] = fact
	}
	told["code"], told["message"], told["hint"], told["retryable"] = e.Code, e.Message, e.Hint, e.Retryable
	raw, _ := json.Marshal(map[string]any{"ok": false, "error": told}) // it came as JSON
	return raw
}

type toolsKey struct{}

// ToolsOf are the tools that a hook gives its agent in the modes HookTools and
// HookBoth; otherwise nil, which has none.
func ToolsOf(ctx context.Context) *Tools {
	t, _ := ctx.Value(toolsKey{}).(*Tools)
	return t
}
