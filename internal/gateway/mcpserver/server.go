package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/service/tools"
)

// OnceKey is the member of a call's _meta under which it is done once.
const OnceKey = "cairn/idempotency-key"

// maxOnceKey bounds it, in characters.
const maxOnceKey = 200

// Registry is where tools come from.
type Registry interface {
	Offered(o agent.Origin, names ...string) []agent.ToolSpec
	Call(ctx context.Context, a agent.Actor, name string, arguments json.RawMessage) (tools.Result, error)
}

// Options say what a server offers, and to whom.
type Options struct {
	Name      string // of the server; cairn when empty
	Version   string
	Registry  Registry
	Profile   string // of Profiles; the default one when empty
	Workspace int64
	MayWrite  bool // false offers what only looks
	Log       *slog.Logger
}

// New makes a server. Who calls is an agent: a person would not.
func New(o Options) (*mcp.Server, error) {
	names, err := profile(o.Profile)
	if err != nil {
		return nil, err
	}
	offered := slices.DeleteFunc(o.Registry.Offered(agent.OriginAgent, names...), func(t agent.ToolSpec) bool {
		return !o.MayWrite && !t.ReadOnly
	})
	s := mcp.NewServer(&mcp.Implementation{Name: cmp.Or(o.Name, "cairn"), Title: "Cairn",
		Version: cmp.Or(o.Version, "dev")}, &mcp.ServerOptions{
		Instructions: instructions, Logger: o.Log, PageSize: max(len(offered), 1),
		// a list that never changes: nobody is told of changes
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	for _, t := range offered {
		described, err := describe(t)
		if err != nil {
			return nil, err
		}
		s.AddTool(described, o.caller(t.Name))
	}
	s.AddReceivingMiddleware(inOrder(offered))
	return s, nil
}

const instructions = "What Cairn remembers for this workspace: facts about the user, how they want to be answered, " +
	"and skills, which say how something is done. " +
	"Look before you write; a result with ok false says what to do next."

// describe is a tool as MCP spells it.
func describe(t agent.ToolSpec) (*mcp.Tool, error) {
	output, err := envelope(t.Output)
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", t.Name, err)
	}
	closed := false
	return &mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Input, OutputSchema: output,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.ReadOnly, DestructiveHint: &t.Destructive,
			IdempotentHint: t.ReadOnly && t.Idempotent, OpenWorldHint: &closed}}, nil
}

// envelope is the schema of a result: ok, and either the members of the tool's
// own schema or an error. Clients check failures against it, too, so ok is all
// that every result has.
func envelope(schema json.RawMessage) (json.RawMessage, error) {
	var s map[string]any
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("decode the schema of its result: %w", err)
	}
	members, _ := s["properties"].(map[string]any)
	if members == nil {
		members = map[string]any{}
	}
	members["ok"] = map[string]any{"type": "boolean", "description": "whether it was done"}
	members["error"] = map[string]any{"type": "object", "description": "why not, with the next step",
		"required": []string{"code", "message", "retryable"},
		"properties": map[string]any{"code": map[string]any{"type": "string"},
			"message": map[string]any{"type": "string"}, "hint": map[string]any{"type": "string"},
			"retryable": map[string]any{"type": "boolean"}}}
	s["properties"], s["required"] = members, []string{"ok"}
	return json.Marshal(s)
}

// caller runs one tool. Whatever goes wrong is a result, so that a model can act
// on it; of trouble inside only the code is told.
func (o Options) caller(name string) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		op, err := operation(req.Params.Meta)
		if err == nil {
			err = Shallow(req.Params.Arguments)
		}
		if err != nil {
			return result(tools.Failure(fault.From(err))), nil
		}
		r, err := o.Registry.Call(ctx, agent.Actor{Workspace: o.Workspace, Origin: agent.OriginAgent, Op: op}, name,
			req.Params.Arguments)
		if err != nil {
			f := fault.From(err)
			if o.Log != nil {
				o.Log.Error("a tool call failed", "tool", name, "code", f.Code, "error", err)
			}
			message := "the call could not be finished; nothing tells whether it took effect"
			if f.Code == fault.Internal {
				message = "unexpected failure"
			}
			r = tools.Failure(fault.New(f.Code, message, ""))
		}
		return result(r), nil
	}
}

func result(r tools.Result) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: !r.OK, StructuredContent: r.JSON,
		Content: []mcp.Content{&mcp.TextContent{Text: string(r.JSON)}}}
}

// operation is the operation id of a call: the client's, or one of its own.
func operation(meta mcp.Meta) (string, error) {
	given, named := meta[OnceKey]
	if !named {
		return "mcp/fresh/" + uuid.NewString(), nil
	}
	key, _ := given.(string)
	if n := utf8.RuneCountInString(key); n == 0 || n > maxOnceKey {
		return "", fault.New(fault.InvalidArgument,
			fmt.Sprintf("%s in _meta is no text of 1 to %d characters", OnceKey, maxOnceKey),
			"give each call an id of its own, and its repetitions the same one")
	}
	return "mcp/chosen/" + key, nil
}

// inOrder lists tools as the registry has them: the SDK sorts them by name, and
// agents read those first that come first.
func inOrder(offered []agent.ToolSpec) mcp.Middleware {
	place := map[string]int{}
	for i, t := range offered {
		place[t.Name] = i
	}
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			r, err := next(ctx, method, req)
			if list, ok := r.(*mcp.ListToolsResult); ok && err == nil {
				slices.SortFunc(list.Tools, func(a, b *mcp.Tool) int {
					return cmp.Compare(place[a.Name], place[b.Name])
				})
			}
			return r, err
		}
	}
}
