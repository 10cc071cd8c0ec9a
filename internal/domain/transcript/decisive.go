package transcript

import "slices"

// Decisive returns the calls on which the success of a conversation rests: its first write, its last write, and
// calls that succeeded after an error of the same tool.
func Decisive(ms []Message) (out []ToolCall) {
	calls := map[string]ToolCall{}
	failed := map[string]bool{} // the last result of a tool, by its name
	var first, last *ToolCall
	add := func(c ToolCall) {
		if !slices.ContainsFunc(out, func(o ToolCall) bool { return o.ID == c.ID }) {
			out = append(out, c)
		}
	}
	for _, m := range ms {
		for _, c := range m.ToolCalls {
			calls[c.ID] = c
		}
		call, known := calls[m.ToolCallID]
		if m.Role != Tool || !known {
			continue
		}
		if m.failed() {
			failed[call.Name] = true
			continue
		}
		if failed[call.Name] {
			add(call)
			failed[call.Name] = false
		}
		if !call.changes() {
			continue
		}
		if first == nil {
			first = &call
		}
		last = &call
	}
	for _, c := range []*ToolCall{first, last} {
		if c != nil {
			add(*c)
		}
	}
	return out
}

// failed reports whether the result of a tool is an error.
func (m Message) failed() bool {
	return m.IsError || failedResult.MatchString(m.Content) || m.ExitCode != nil && *m.ExitCode != 0
}
