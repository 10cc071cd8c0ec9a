package openaiapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"cairn/internal/domain/llm"
)

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// maxTools is the maximum number of tools of a client.
const maxTools = 128

// clientTool is a tool of a request.
type clientTool struct {
	param       string // path of the members
	kind        string
	name        string
	description string
	parameters  json.RawMessage
}

func (in chatRequest) tools() (all []clientTool) {
	for i, t := range in.Tools {
		all = append(all, clientTool{fmt.Sprintf("tools[%d].function", i), t.Type, t.Function.Name,
			t.Function.Description, t.Function.Parameters})
	}
	return all
}

// tools returns the tools of the client and the choice among them. Cairn offers its own tools, too.
func (c *call) tools(all []clientTool, choice json.RawMessage) (out []llm.Tool, _ llm.ToolChoice, err error) {
	if len(all) > maxTools {
		return nil, "", invalid("tools", "%d tools, the limit is %d", len(all), maxTools)
	}
	ours, named := c.options.ToolNames(), map[string]bool{}
	for i, t := range all {
		switch {
		case t.kind != "function":
			return nil, "", invalid(
				fmt.Sprintf("tools[%d].type", i),
				"type %.40q is not supported; use function",
				t.kind,
			)
		case !toolName.MatchString(t.name):
			return nil, "", invalid(t.param+".name", "name %.80q of a tool must have 1 to 64 letters, digits, _ or -",
				t.name)
		case slices.Contains(ours, t.name):
			return nil, "", invalid(t.param+".name", "%s is a tool of Cairn; choose another name", t.name)
		case named[t.name]:
			return nil, "", invalid(t.param+".name", "two tools have the name %s", t.name)
		case !empty(t.parameters) && !isObject(t.parameters):
			return nil, "", invalid(t.param+".parameters", "parameters must be a JSON Schema object")
		}
		named[t.name] = true
		tool := llm.Tool{Name: t.name, Description: t.description}
		if !empty(t.parameters) {
			tool.Schema = t.parameters
		}
		out = append(out, tool)
	}
	return chosen(out, named, choice)
}

// chosen applies tool_choice to the client's tools.
func chosen(all []llm.Tool, named map[string]bool, raw json.RawMessage) ([]llm.Tool, llm.ToolChoice, error) {
	var word string
	var one struct {
		Type, Name string // the name is in the function, or directly in a request for a response
		Function   struct{ Name string }
	}
	switch {
	case empty(raw):
		return all, llm.ChooseAuto, nil
	case json.Unmarshal(raw, &word) == nil:
		switch {
		case word == "auto":
			return all, llm.ChooseAuto, nil
		case word == "none":
			return nil, llm.ChooseAuto, nil
		case word == "required" && len(all) > 0:
			return all, llm.ChooseAny, nil
		}
	case json.Unmarshal(raw, &one) == nil && one.Type == "function" && named[cmp.Or(one.Function.Name, one.Name)]:
		return all, llm.ToolChoice(cmp.Or(one.Function.Name, one.Name)), nil
	}
	return nil, "", invalid("tool_choice", "tool_choice must be auto, none, required, or a function of tools")
}
