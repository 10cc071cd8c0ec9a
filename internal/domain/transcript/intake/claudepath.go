package intake

import (
	"slices"

	"cairn/internal/domain/transcript"
)

// divide makes conversations of the records: for each session the path to its newest record. What
// is not on a path is counted.
func (f *session) divide() {
	done := map[string]bool{} // sessions that have a conversation
	var paths [][]int
	for i := len(f.entries) - 1; i >= 0; i-- {
		e := f.entries[i]
		if e.taken || e.side || done[e.session] || len(e.messages) == 0 {
			continue
		}
		path := f.path(i)
		for _, at := range path {
			done[f.entries[at].session] = true
		}
		paths = append(paths, path)
	}
	slices.Reverse(paths)
	owner := map[string]int{} // conversations by session
	for i, path := range paths {
		for _, at := range path {
			owner[f.entries[at].session] = i
		}
	}
	f.threads()
	alone := map[string]int{}
	for i, e := range f.entries {
		if !e.side || len(e.messages) == 0 {
			continue
		}
		e.taken = true
		if at, known := owner[e.session]; known {
			paths[at] = append(paths[at], i)
			continue
		}
		at, known := alone[e.session+"/"+e.thread]
		if !known {
			at = len(paths)
			alone[e.session+"/"+e.thread] = at
			paths = append(paths, nil)
		}
		paths[at] = append(paths[at], i)
	}
	for _, path := range paths {
		f.conversation(path)
	}
	f.abandoned()
}

// path returns the records of the branch that ends with a record: its ancestors, the other records
// of their replies, and the results of their calls.
func (f *session) path(leaf int) []int {
	replies, calls := map[string]bool{}, map[string]bool{}
	var path []int
	take := func(at int) {
		e := f.entries[at]
		e.taken = true
		path = append(path, at)
		if e.join != "" {
			replies[e.join] = true
		}
		for _, m := range e.messages {
			for _, call := range m.ToolCalls {
				calls[call.ID] = true
			}
		}
	}
	for at, known := leaf, true; known && !f.entries[at].taken; {
		take(at)
		at, known = f.byID[f.entries[at].parent]
	}
	for grown := true; grown; {
		grown = false
		for at, e := range f.entries[:leaf+1] {
			if !e.taken && !e.side && (replies[e.join] && e.join != "" || answers(e, calls)) {
				take(at)
				grown = true
			}
		}
	}
	return path
}

// answers reports whether a record holds only results of calls.
func answers(e *entry, calls map[string]bool) bool {
	for _, m := range e.messages {
		if m.Role != transcript.Tool || !calls[m.ToolCallID] {
			return false
		}
	}
	return len(e.messages) > 0
}

// threads names the sub-agents of records that do not state one by the first record of their chain.
func (f *session) threads() {
	for _, e := range f.entries {
		if !e.side || e.thread != "" {
			continue
		}
		e.thread = e.uuid
		if at, known := f.byID[e.parent]; known && f.entries[at].side {
			e.thread = f.entries[at].thread
		}
	}
}

// conversation joins the records at some positions.
func (f *session) conversation(path []int) {
	slices.Sort(path)
	t := f.sink.open("")
	replies := map[string]int{}
	threads := map[string]bool{}
	for _, at := range path {
		e := f.entries[at]
		if t.Session = compare(t.Session, e.session); t.Title == "" {
			t.Title = f.titles[e.session]
		}
		if e.side {
			threads[e.thread] = true
		}
		for _, m := range e.messages {
			m.Thread = e.thread
			key := e.thread + "/" + e.join
			if first, known := replies[key]; e.join != "" && known && m.Role == transcript.Assistant {
				t.Messages[first] = joined(t.Messages[first], m)
				continue
			}
			if e.join != "" && m.Role == transcript.Assistant {
				replies[key] = len(t.Messages)
			}
			t.put(m)
		}
	}
	if len(threads) == 1 && f.entries[path[0]].side { // the file of a sub-agent
		t.Parent, t.Session = t.Session, f.entries[path[0]].thread
	}
}

// joined appends the parts of a reply that was written in several records.
func joined(m, next transcript.Message) transcript.Message {
	m.Content = joinText(m.Content, next.Content, "\n")
	m.Reasoning = joinText(m.Reasoning, next.Reasoning, "\n\n")
	m.ToolCalls = append(m.ToolCalls, next.ToolCalls...)
	m.Media = append(m.Media, next.Media...)
	return m
}

func joinText(a, b, between string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + between + b
}

// abandoned counts the branches that were left, and their messages.
func (f *session) abandoned() {
	branches, messages := 0, 0
	for _, e := range f.entries {
		if e.taken || e.side || len(e.messages) == 0 {
			continue
		}
		messages += len(e.messages)
		if at, known := f.byID[e.parent]; !known || f.entries[at].taken {
			branches++
		}
	}
	f.sink.skip("abandoned branch", branches)
	f.sink.skip("message of abandoned branches", messages)
}
