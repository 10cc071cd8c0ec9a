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

// OnceKey is the member of a call's _meta that holds its idempotency key.
const OnceKey = "cairn/idempotency-key"

// maxOnceKey is the maximum length of an idempotency key, in characters.
const maxOnceKey = 200

// Registry lists and calls tools.
type Registry interface {
	Offered(o agent.Origin, names ...string) []agent.ToolSpec
	Call(ctx context.Context, a agent.Actor, name string, arguments json.RawMessage) (tools.Result, error)
}

// Options configures a server.
type Options struct {
	Name      string // name of the server; empty means cairn
	Version   string
	Registry  Registry
	Profile   string // one of Profiles; empty means Default
	Workspace int64
	MayWrite  bool // false leaves out tools that write
	Log       *slog.Logger
}

// New returns an MCP server. All calls have the origin agent.
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
		// the list never changes, so the server sends no change notifications
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

const instructions = "Memory of Cairn for this workspace: facts about the user, the user's reply preferences, and " +
	"skills, which are instructions for tasks. " +
	"Search before you write. If a result has ok false, follow its hint."

// describe converts a tool into its MCP form.
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

// envelope returns the schema of a result: ok, and either the members of the tool's own
// schema or an error. Clients validate failures against it, too, so only ok is required.
func envelope(schema json.RawMessage) (json.RawMessage, error) {
	var s map[string]any
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("decode the output schema: %w", err)
	}
	members, _ := s["properties"].(map[string]any)
	if members == nil {
		members = map[string]any{}
	}
	members["ok"] = map[string]any{"type": "boolean", "description": "whether the call succeeded"}
	members["error"] = map[string]any{"type": "object", "description": "the error, with a hint for the next step",
		"required": []string{"code", "message", "retryable"},
		"properties": map[string]any{"code": map[string]any{"type": "string"},
			"message": map[string]any{"type": "string"}, "hint": map[string]any{"type": "string"},
			"retryable": map[string]any{"type": "boolean"}}}
	s["properties"], s["required"] = members, []string{"ok"}
	return json.Marshal(s)
}

// caller returns the handler of one tool. Errors become results, so that a model can act
// on them. For an internal error the result has only the code.
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
				o.Log.Error("tool call failed", "tool", name, "code", f.Code, "error", err)
			}
			message := "call interrupted: outcome unknown"
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

// operation returns the operation ID of a call: the client's, or a new one.
func operation(meta mcp.Meta) (string, error) {
	given, named := meta[OnceKey]
	if !named {
		return "mcp/fresh/" + uuid.NewString(), nil
	}
	key, _ := given.(string)
	if n := utf8.RuneCountInString(key); n == 0 || n > maxOnceKey {
		return "", fault.New(fault.InvalidArgument,
			fmt.Sprintf("%s in _meta must be a string of 1 to %d characters", OnceKey, maxOnceKey),
			"send a unique ID with each call, and the same ID when you retry it")
	}
	return "mcp/chosen/" + key, nil
}

// inOrder lists tools in the order of the registry, because agents read the first tools
// first. The SDK sorts them by name.
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
