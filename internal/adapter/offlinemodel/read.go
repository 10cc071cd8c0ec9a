package offlinemodel

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/memoryrules"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/workingmemory"
)

// request contains everything that the rules may use.
type request struct {
	system   string // the instructions
	material prompt.Material
	live     bool               // the request has no material: the conversation itself is the material
	from     int                // live: index of the last final reply, after which the question starts; else -1
	schema   *schema            // nil if text or a tool call is wanted
	tools    []tool             // tools that may be called
	must     bool               // one of the tools must be called
	sent     []memoryrules.Call // tool calls of earlier rounds
	results  []prompt.Message   // their results
}

type tool struct {
	Name       string
	Parameters *schema
}

func read(body []byte) (request, error) {
	asked, err := llm.ReadAsked(body)
	switch {
	case err != nil:
		return request{}, fmt.Errorf("decode the request: %w", err)
	case asked.Stream:
		return request{}, fmt.Errorf("the offline model does not stream; send stream: false")
	case len(asked.Messages) == 0:
		return request{}, fmt.Errorf("the request has no messages")
	}
	choice := string(cmp.Or(asked.ToolChoice, "auto"))
	req := request{schema: parse(asked.Schema), must: choice != "auto", live: true, from: -1}
	for _, t := range asked.Tools {
		if parameters := parse(t.Schema); parameters != nil &&
			(choice == "auto" || choice == "required" || choice == t.Name) {
			req.tools = append(req.tools, tool{t.Name, parameters})
		}
	}
	tools, before := map[string]string{}, "" // tools by call ID; role of the previous message
	var remembered []string                  // memories in the instructions
	for i, message := range asked.Messages {
		said := prompt.Message{Index: i, Role: message.Role, Name: tools[message.CallID],
			Content: workingmemory.Recorded(prompt.WithoutContext(message.Content))}
		for _, made := range message.Calls {
			tools[made.ID] = made.Name
			req.sent = append(req.sent, memoryrules.Call{Tool: made.Name, Arguments: made.Arguments})
			said.ToolCalls = append(said.ToolCalls, made.Name+"("+made.Arguments+")")
		}
		switch m, err := prompt.ReadMaterial(message.Content); {
		case instructs(message.Role):
			req.system += message.Content + "\n"
			remembered = append(remembered, prompt.Remembered(message.Content)...)
			if req.schema == nil {
				req.schema = fencedSchema(message.Content)
			}
		case message.Role == "tool":
			req.results = append(req.results, said)
		case message.Role == "user" && err == nil && req.live:
			req.material, req.live, req.from = m, false, -1
			if req.schema == nil {
				req.schema = fencedSchema(message.Content)
			}
		case message.Role == "assistant" && len(said.ToolCalls) == 0 && req.live:
			req.from = i
		}
		// A user message right after results comes from the caller's loop. Instructions and notes are no part of the
		// conversation, so that no reply quotes them.
		loops := message.Role == "user" && (before == "tool" || prompt.IsNote(message.Content))
		if req.live && !loops && !instructs(message.Role) {
			req.material.Messages = append(req.material.Messages, said)
		}
		before = message.Role
	}
	req.material.Memories = append(req.material.Memories, remembered...)
	return req, nil
}

// instructs reports whether the messages of a role are instructions.
func instructs(role string) bool { return role == "system" || role == "developer" }

var fenced = regexp.MustCompile("(?s)```\\w*\\s*\\n(.*?)\\n```")

// fencedSchema returns the schema in the instructions, where a caller writes it for an endpoint
// without response_format.
func fencedSchema(system string) *schema {
	for _, match := range fenced.FindAllStringSubmatch(system, -1) {
		if s := parse([]byte(match[1])); s != nil && len(s.Properties) > 0 {
			return s
		}
	}
	return nil
}

// parse decodes a schema. It returns nil if text is not one.
func parse(text []byte) (s *schema) {
	if json.Unmarshal(text, &s) != nil {
		return nil
	}
	return s
}
