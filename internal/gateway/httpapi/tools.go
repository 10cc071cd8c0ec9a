package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"cairn/internal/domain/access"
	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/gateway/edge"
	"cairn/internal/gateway/mcpserver"
	"cairn/internal/service/tools"
)

// ToolInfo describes a tool as agents see it.
type ToolInfo struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Input       any    `json:"input" doc:"JSON Schema of the arguments"`
	Output      any    `json:"output" doc:"JSON Schema of the result"`
	ReadOnly    bool   `json:"read_only"`
	Destructive bool   `json:"destructive"`
}

// ToolList holds all tools in the order in which agents see them.
type ToolList struct {
	Tools []ToolInfo `json:"tools"`
}

func (g *Gateway) toolRoutes() {
	free := func(about string) *huma.Schema {
		return &huma.Schema{Type: huma.TypeObject, Description: about, AdditionalProperties: true}
	}
	handle(g, route{method: http.MethodGet, path: "/v1/tools", id: "listTools", tag: tagTools, scope: access.Read,
		summary: "List the tools of agents"}, g.listTools)
	handle(g, route{method: http.MethodPost, path: "/v1/tools/{name}", id: "callTool", tag: tagTools,
		scope: access.Read, bytes: smallBody, summary: "Call a tool as the user",
		about: "The body contains the tool's arguments. A tool that writes requires the scope write. GET " +
			"/v1/tools returns the schemas.",
		body: &huma.RequestBody{Required: true, Content: content("application/json", free("The arguments"))},
		responses: map[string]*huma.Response{
			"200": {
				Description: "The tool's result",
				Content: content(
					"application/json",
					free("ok and the members of the tool's output schema"),
				),
			}}}, g.callTool)
}

func (g *Gateway) listTools(context.Context, *struct{}) (*bodyOf[ToolList], error) {
	out := &bodyOf[ToolList]{ToolList{[]ToolInfo{}}}
	for _, t := range g.Offered.Offered(agent.OriginUser) {
		out.Body.Tools = append(out.Body.Tools,
			ToolInfo{Name: t.Name, Description: t.Description, Input: t.Input, Output: t.Output, ReadOnly: t.ReadOnly,
				Destructive: t.Destructive})
	}
	return out, nil
}

type toolOutput struct{ Body json.RawMessage }

func (g *Gateway) callTool(ctx context.Context, in *struct {
	IdempotencyKey
	Name    string `path:"name" maxLength:"100"`
	RawBody []byte
}) (*toolOutput, error) {
	if err := mayCall(asking(ctx).Scopes, g.Offered.Offered(agent.OriginUser, in.Name)); err != nil {
		return nil, err
	}
	if err := mcpserver.Shallow(in.RawBody); err != nil {
		return nil, err
	}
	r, err := g.Offered.Call(ctx, person(ctx, in.IdempotencyKey), in.Name, in.RawBody)
	if err != nil {
		return nil, err
	}
	if !r.OK {
		return nil, failed(r)
	}
	return &toolOutput{r.JSON}, nil
}

// mayCall refuses a writing tool to a key without the scope write.
func mayCall(scopes []string, named []agent.ToolSpec) error {
	writes := func(t agent.ToolSpec) bool { return !t.ReadOnly }
	if slices.ContainsFunc(named, writes) && !access.Write.Allows(scopes) {
		return fault.New(fault.OutOfScope, fmt.Sprintf("scope %s required; the key has %s", access.Write,
			strings.Join(scopes, ", ")), "")
	}
	return nil
}

// failed converts a tool's failure into an error, including its extra members.
func failed(r tools.Result) error {
	var envelope struct {
		Error map[string]any `json:"error"`
	}
	if err := json.Unmarshal(r.JSON, &envelope); err != nil {
		return fmt.Errorf("decode a tool's failure: %w", err)
	}
	message, _ := envelope.Error["message"].(string)
	hint, _ := envelope.Error["hint"].(string)
	p := edge.NewProblem(r.Code, message, hint)
	for _, known := range []string{"code", "message", "hint", "retryable"} {
		delete(envelope.Error, known)
	}
	p.Extra = envelope.Error
	return p
}
