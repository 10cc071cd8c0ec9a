package reflection

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/agentrun"
	"cairn/internal/service/tools"
)

// citing adds an argument to write tools in which a call cites its source messages.
type citing struct {
	agentrun.Tools
	spans []Span
	date  string // of the run
}

// citation is the name of the argument.
const citation = "messages"

// writers are the tools with the argument.
var writers = []string{agent.NoteAppend, "memory_save", "memory_replace", "memory_batch", "skill_save", "skill_patch"}

// Offered returns the tools of a review, preceded by note_append, because a day yields more notes
// than lasting memories.
func (c citing) Offered(o agent.Origin, names ...string) (out []agent.ToolSpec) {
	for _, t := range c.Tools.Offered(o, names...) {
		if t.Name != agent.NoteAppend && !t.Allows(agent.OriginNudge) { // only users and curation may delete
			continue
		}
		if slices.Contains(writers, t.Name) {
			t.Input = cites(t.Input)
		}
		out = append(out, t)
	}
	return out
}

// cites adds the argument to a schema.
func cites(schema json.RawMessage) json.RawMessage {
	var s map[string]any
	if json.Unmarshal(schema, &s) != nil {
		return schema
	}
	properties, _ := s["properties"].(map[string]any)
	properties[citation] = map[string]any{"type": "array", "items": map[string]any{"type": "integer"}, "minItems": 1,
		"description": "index of each message of the material that shows it"}
	required, _ := s["required"].([]any)
	s["required"] = append(required, citation)
	raw, err := json.Marshal(s)
	if err != nil {
		return schema
	}
	return raw
}

// Call resolves the cited messages and calls the tool with them as evidence.
func (c citing) Call(ctx context.Context, a agent.Actor, name string, arguments json.RawMessage) (tools.Result, error) {
	if len(c.Offered(a.Origin, name)) == 0 {
		return tools.Failure(fault.New(fault.UnknownTool, name+" is not offered here",
			"use one of the offered tools")), nil
	}
	if !slices.Contains(writers, name) {
		return c.Tools.Call(ctx, a, name, arguments)
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(arguments, &given) != nil { // the tool reports the error
		return c.Tools.Call(ctx, a, name, arguments)
	}
	var indices []int
	if raw := given[citation]; len(raw) > 0 && json.Unmarshal(raw, &indices) != nil {
		indices = nil
	}
	e, date, err := c.evidence(indices)
	if err != nil {
		return tools.Failure(fault.From(err)), nil
	}
	delete(given, citation)
	rest, err := json.Marshal(given)
	if err != nil {
		return tools.Result{}, fmt.Errorf("encode the arguments of %s: %w", name, err)
	}
	a.Conversation, a.FromSeq, a.ToSeq = e.Conversation, e.FromSeq, e.ToSeq
	if name == agent.NoteAppend {
		a.Subject = agent.MemoryScope{Type: string(memory.Note), Target: date}
	}
	return c.Tools.Call(ctx, a, name, rest)
}

// evidence returns the range of the cited messages in the conversation of the first one, and the
// date of that message.
func (c citing) evidence(indices []int) (e memory.Evidence, date string, err error) {
	if len(indices) == 0 {
		return e, "", fault.New(fault.InvalidArgument, "missing citation",
			"list in `messages` the index of each source message")
	}
	for i, n := range indices {
		s, seq, found := cited(c.spans, n)
		switch {
		case !found:
			return e, "", fault.New(fault.InvalidArgument, fmt.Sprintf("message %d not found", n),
				"cite the `index` of a message in the material")
		case i == 0:
			e, date = memory.Evidence{Conversation: s.Conversation, FromSeq: seq, ToSeq: seq}, s.Date
		case s.Conversation == e.Conversation:
			e.FromSeq, e.ToSeq = min(e.FromSeq, seq), max(e.ToSeq, seq)
		}
	}
	return e, date, nil
}
