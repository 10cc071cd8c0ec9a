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

// citing are tools whose writes say which messages they rest on: one argument
// more, by which the evidence of what is written is found.
type citing struct {
	agentrun.Tools
	spans []Span
	date  string // of the run
}

// citation is the argument's name.
const citation = "messages"

// writers have it.
var writers = []string{tools.NoteAppend, "memory_save", "memory_replace", "memory_batch", "skill_save", "skill_patch"}

// Offered are the tools of a review with note_append, which come first: a day
// has more to note than to keep for ever.
func (c citing) Offered(o agent.Origin, names ...string) (out []agent.ToolSpec) {
	for _, t := range c.Tools.Offered(o, names...) {
		if t.Name != tools.NoteAppend && !t.Allows(agent.OriginNudge) { // deleting is for people and for curation
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

// Call finds the messages that a write cites, and makes it with them as its evidence.
func (c citing) Call(ctx context.Context, a agent.Actor, name string, arguments json.RawMessage) (tools.Result, error) {
	if len(c.Offered(a.Origin, name)) == 0 {
		return tools.Failure(fault.New(fault.UnknownTool, name+" is not offered here",
			"use one of the tools that are")), nil
	}
	if !slices.Contains(writers, name) {
		return c.Tools.Call(ctx, a, name, arguments)
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(arguments, &given) != nil { // the tool says what is wrong
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
	if name == tools.NoteAppend {
		a.Subject = agent.MemoryScope{Type: string(memory.Note), Target: date}
	}
	return c.Tools.Call(ctx, a, name, rest)
}

// evidence is the range of the cited messages in the conversation of the first
// of them, and the date on which that one was said.
func (c citing) evidence(indices []int) (e memory.Evidence, date string, err error) {
	if len(indices) == 0 {
		return e, "", fault.New(fault.InvalidArgument, "no message is cited",
			"send in `messages` the index of each message of the material that shows it")
	}
	for i, n := range indices {
		s, seq, found := cited(c.spans, n)
		switch {
		case !found:
			return e, "", fault.New(fault.InvalidArgument, fmt.Sprintf("there is no message %d", n),
				"cite the `index` of messages in the material")
		case i == 0:
			e, date = memory.Evidence{Conversation: s.Conversation, FromSeq: seq, ToSeq: seq}, s.Date
		case s.Conversation == e.Conversation:
			e.FromSeq, e.ToSeq = min(e.FromSeq, seq), max(e.ToSeq, seq)
		}
	}
	return e, date, nil
}
