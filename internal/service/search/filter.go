package search

import (
	"slices"
	"strconv"

	"cairn/internal/domain/index"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/search"
)

// maxFilters is how many combinations of filter values become keys.
const maxFilters = 16

// filter is a request's filter as keys of the index.
type filter struct {
	Request
	conversation int64
	keys         [][]int32 // alternatives, each of which a document must hold completely
	checked      bool      // keys do not express all of it: documents are checked
}

func newFilter(r Request, conversation int64) filter {
	f := filter{Request: r, conversation: conversation, keys: [][]int32{nil}}
	f.add(index.KeyKind, r.Kinds)
	types := make([]string, len(r.Types))
	for i, t := range r.Types {
		types[i] = string(t)
	}
	f.add(index.KeyType, types)
	f.add(index.KeyTarget, r.Targets)
	if r.Conversation != "" {
		f.add(index.KeyConversation, []string{strconv.FormatInt(conversation, 10)})
	}
	return f
}

// add requires one of values, unless that makes too many combinations.
func (f *filter) add(field string, values []string) {
	switch {
	case len(values) == 0:
		return
	case len(f.keys)*len(values) > maxFilters:
		f.checked = true
		return
	}
	var keys [][]int32
	for _, set := range f.keys {
		for _, value := range values {
			keys = append(keys, append(slices.Clone(set), lexical.Key(field, value)))
		}
	}
	f.keys = keys
}

// empty reports whether the filter passes everything.
func (f filter) empty() bool {
	return len(f.keys) == 1 && len(f.keys[0]) == 0 && !f.checked && f.After.IsZero() && f.Before.IsZero()
}

func (f filter) terms() (out []int32) {
	for _, set := range f.keys {
		out = append(out, set...)
	}
	return out
}

// kept estimates how many documents pass: no more than the rarest key of each
// alternative has.
func (f filter) kept(s index.Statistics) int {
	n := 0
	for _, set := range f.keys {
		least := s.Docs
		for _, key := range set {
			least = min(least, s.Terms[key].DF)
		}
		n += least
	}
	return min(n, s.Docs)
}

// passes reports whether a document passes the filter.
func (f filter) passes(d search.Document) bool {
	return (len(f.Kinds) == 0 || slices.Contains(f.Kinds, d.Kind)) &&
		(len(f.Types) == 0 || slices.ContainsFunc(f.Types, func(t memoryType) bool { return string(t) == d.Type })) &&
		(len(f.Targets) == 0 || slices.Contains(f.Targets, d.Target)) &&
		(f.Conversation == "" || d.Conversation == f.conversation) &&
		(f.After.IsZero() || !d.EventTime.IsZero() && !d.EventTime.Before(f.After)) &&
		(f.Before.IsZero() || !d.EventTime.IsZero() && d.EventTime.Before(f.Before))
}
