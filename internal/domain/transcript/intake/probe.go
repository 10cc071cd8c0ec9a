package intake

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// ProbeSize is the number of bytes that a detection sees.
const ProbeSize = 256 << 10

// Probe is the beginning of an input.
type Probe struct {
	Name  string // base name of the file
	Head  []byte // at most ProbeSize bytes, without a byte order mark
	Whole bool   // Head is the whole input

	json    bool
	records []record // objects at the top level, or in the only array
}

// record is a decoded object of the head. Its end may be missing.
type record = map[string]any

const (
	maxRecords = 400 // that a detection looks at
)

// newProbe decodes as much of the head as is valid.
func newProbe(name string, head []byte, whole bool) Probe {
	p := Probe{Name: name, Head: head, Whole: whole, json: looksLikeJSON(head)}
	if !p.json {
		return p
	}
	for value := range Beginning(head) {
		if p.add(value); len(p.records) == maxRecords {
			break
		}
	}
	return p
}

func (p *Probe) add(value any) {
	switch v := value.(type) {
	case record:
		p.records = append(p.records, v)
	case []any:
		for _, item := range v {
			switch one := item.(type) {
			case record:
				p.records = append(p.records, one)
			case []any: // a conversation
				p.records = append(p.records, record{"messages": one})
			}
		}
	}
	p.records = p.records[:min(len(p.records), maxRecords)]
}

// keys returns the names in the head, down to three levels, in order.
func (p Probe) keys() []string {
	found := map[string]bool{}
	for _, r := range p.records {
		collect(found, r, 3)
	}
	return slices.Sorted(maps.Keys(found))
}

func collect(found map[string]bool, value any, depth int) {
	if depth == 0 {
		return
	}
	switch v := value.(type) {
	case record:
		for key, member := range v {
			found[key] = true
			collect(found, member, depth-1)
		}
	case []any:
		for _, item := range v {
			collect(found, item, depth)
		}
	}
}

// top returns the names of the first record.
func (p Probe) top() []string {
	if len(p.records) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(p.records[0]))
}

func has(r record, keys ...string) bool {
	for _, key := range keys {
		if _, ok := r[key]; !ok {
			return false
		}
	}
	return true
}

func hasAny(r record, keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return has(r, key) })
}

func text(r record, key string) string {
	value, _ := r[key].(string)
	return value
}

func list(r record, key string) []any {
	value, _ := r[key].([]any)
	return value
}

func child(r record, key string) record {
	value, _ := r[key].(record)
	return value
}

// objects returns the objects of a list.
func objects(items []any) (out []record) {
	for _, item := range items {
		if o, ok := item.(record); ok {
			out = append(out, o)
		}
	}
	return out
}

// looksLikeJSON distinguishes JSON from text, which can also start with a bracket: `[10:00] Ann:
// hello`.
func looksLikeJSON(data []byte) bool {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return false
	}
	if data[0] == '{' {
		return true
	}
	if data[0] != '[' {
		return false
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	_, ok := splitHead(string(line))
	return !ok
}

// oneOf reports whether a text is in a list separated by blanks.
func oneOf(text, words string) bool {
	return text != "" && slices.Contains(strings.Fields(words), text)
}
