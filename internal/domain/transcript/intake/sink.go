package intake

import (
	"fmt"
	"path"
	"strings"

	"cairn/internal/domain/transcript"
)

// Sink collects what an adapter reads.
type Sink struct {
	source *JSONSource
	report transcript.ImportReport
	all    []*talk
}

// talk is a conversation that is being read.
type talk struct {
	transcript.Conversation
	sink  *Sink
	model string         // of messages that name none
	pairs pairing        // calls and results without IDs
	ids   map[string]int // positions of message IDs that must not be repeated
}

// remember stores the position of the next message by its ID.
func (t *talk) remember(id string) {
	if t.ids == nil {
		t.ids = map[string]int{}
	}
	if id != "" {
		t.ids[id] = len(t.Messages)
	}
}

// open begins a conversation.
func (k *Sink) open(title string) *talk {
	t := &talk{Conversation: transcript.Conversation{Title: title}, sink: k}
	k.all = append(k.all, t)
	return t
}

// skip counts parts that are not messages.
func (k *Sink) skip(kind string, n int) {
	k.report.Skip(kind, n)
}

// unknown counts a part of an unknown kind. Its caller keeps the JSON text.
func (k *Sink) unknown(kind string) {
	if kind == "" {
		kind = "part without a type"
	}
	k.report.AddUnknown(Storable(kind))
}

func (k *Sink) warn(format string, args ...any) { k.report.Warn(format, args...) }

// place returns the position of a value.
func (k *Sink) place(n JSONValue) *transcript.FilePlace {
	if n.Line() == 0 {
		return nil
	}
	return &transcript.FilePlace{File: k.source.Name, Line: n.Line(), Pointer: n.Pointer()}
}

// add appends a message that was read from a value. A message without any content is kept: its
// position can be cited.
func (t *talk) add(m transcript.Message, from JSONValue) {
	if m.Place == nil {
		m.Place = t.sink.place(from)
	}
	t.put(m)
}

// put appends a message as it is.
func (t *talk) put(m transcript.Message) {
	m.ID, m.Name, m.ToolCallID = Storable(m.ID), Storable(m.Name), Storable(m.ToolCallID)
	if m.Role == transcript.Assistant && m.Model == "" {
		m.Model = t.model
	}
	t.Messages = append(t.Messages, m)
	if t.sink.report.Parts++; t.sink.report.Parts > MaxMessages {
		panic(tooMany{}) // Read recovers it: adapters go through the messages of a record without errors
	}
}

// empty reports whether a message holds nothing.
func empty(m transcript.Message) bool {
	return m.Empty() && m.Reasoning == "" && len(m.Media) == 0 && m.Role != transcript.Tool
}

// finish removes conversations without messages, names the tools of results, and counts.
func (k *Sink) finish() []transcript.Conversation {
	var out []transcript.Conversation
	for _, t := range k.all {
		if len(t.Messages) == 0 {
			if len(k.all) > 1 {
				k.skip("conversation without messages", 1)
			}
			continue
		}
		t.Format = k.source.Format
		k.answer(t.Messages)
		unique(t.Messages)
		out = append(out, t.Conversation)
	}
	for i := range out {
		out[i].Title = title(k.source.Name, out[i].Title, i, len(out))
	}
	transcript.Finish(out)
	k.report.Conversations = len(out)
	return out
}

// answer joins results to calls by ID, names their tools, and counts both.
func (k *Sink) answer(messages []transcript.Message) {
	calls, answered := map[string]string{}, map[string]bool{}
	r := &k.report
	for i := range messages {
		m := &messages[i]
		r.Messages++
		if m.Reasoning != "" {
			r.Reasoning++
		}
		for _, call := range m.ToolCalls {
			r.Calls++
			if call.ID != "" {
				calls[call.ID] = call.Name
			}
		}
		if m.Role != transcript.Tool {
			continue
		}
		if m.IsError {
			r.Errors++
		}
		tool, known := calls[m.ToolCallID]
		if known && m.Name == "" {
			m.Name = tool
		}
		switch {
		case !known:
			r.Orphans++
		case !answered[m.ToolCallID]:
			answered[m.ToolCallID] = true
			r.Answered++
		}
	}
}

// unique changes repeated message IDs. A program that joins or copies sessions repeats them.
func unique(messages []transcript.Message) {
	taken := map[string]bool{}
	for i := range messages {
		id := messages[i].ID
		for n := 2; id != "" && taken[id]; n++ {
			id = fmt.Sprintf("%s#%d", messages[i].ID, n)
		}
		messages[i].ID, taken[id] = id, true
	}
}

// title returns the title for people: the file and the part of it.
func title(name, own string, position, count int) string {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	switch {
	case own != "":
		return base + ": " + Storable(own)
	case count > 1:
		return fmt.Sprintf("%s #%d", base, position+1)
	default:
		return base
	}
}
