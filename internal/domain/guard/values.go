package guard

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn/internal/domain/transcript"
)

// ValueSet holds the values of the persons and cases in some messages: names, IDs, addresses. It
// contains private data and must be discarded with its run, like a Redactor. The zero value is
// empty.
type ValueSet struct {
	terms map[string][]term // by their first word in lower case, or their first Han character; longest first
	names map[string]bool   // words of names in lower case
	count int
}

// term is one value to find.
type term struct {
	text  string
	kind  string // id, name, email, card, phone, address, birth_date
	label string // placeholder of Mask
	exact bool   // case-sensitive
	weak  weakness
}

// weakness is the evidence that a name needs in addition to its letters.
type weakness int

const (
	alone    weakness = iota // always a name
	inside                   // also a word, such as Brown: a name if capitalized inside a sentence, or as for adjacent
	adjacent                 // also a place, such as Charlotte: a name only next to another name or after a title
)

// Len returns the number of values.
func (v ValueSet) Len() int { return v.count }

// Values collects values from the JSON of tool calls and tool results, by the names of their keys
// and by their form. From other text it takes only unambiguous values: e-mail addresses, card and
// telephone numbers, and IDs like mia_li_3668. Names of tools, enumerated words (economy,
// round_trip), amounts and dates are not values.
func Values(messages []transcript.Message) ValueSet {
	c := collector{terms: map[string]term{}, tools: map[string]bool{}, common: map[string]bool{}}
	for _, m := range messages {
		if m.Role == transcript.Tool {
			c.tools[strings.ToLower(m.Name)] = true
		}
		for _, call := range m.ToolCalls {
			c.tools[strings.ToLower(call.Name)] = true
		}
	}
	for _, m := range messages {
		for _, call := range m.ToolCalls {
			c.read(call.Arguments)
		}
		switch m.Role {
		case transcript.Tool:
			c.read(m.Content)
		case transcript.User:
			c.prose(m.Content)
		}
	}
	return c.set()
}

// collector collects terms by kind and text.
type collector struct {
	terms  map[string]term
	tools  map[string]bool
	common map[string]bool // words of values that are not names, as written
}

// read accepts one or several JSON documents, or prose.
func (c *collector) read(text string) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	for {
		var document any
		if err := decoder.Decode(&document); err != nil {
			if err != io.EOF {
				c.prose(text)
			}
			return
		}
		c.walk("", document, false)
	}
}

// walk visits a document. person reports whether it describes a person.
func (c *collector) walk(key string, value any, person bool) {
	switch value := value.(type) {
	case map[string]any:
		person := describesPerson(key, value)
		for _, raw := range slices.Sorted(maps.Keys(value)) {
			if name := snake(raw); keyed(raw) {
				c.add(term{text: raw, kind: "id", label: "id"})
				c.walk(key, value[raw], person)
			} else {
				c.walk(name, value[raw], person)
			}
		}
	case []any:
		for _, item := range value {
			c.walk(key, item, person)
		}
	case string:
		c.scalar(key, strings.TrimSpace(value), person, true)
	case json.Number:
		c.scalar(key, value.String(), person, false)
	}
}

// add stores a term. A repeated value keeps its first label.
func (c *collector) add(t term) {
	t.text = strings.TrimLeftFunc(t.text, func(r rune) bool { return !wordRune(r) }) // values are looked up at words
	key := t.kind + "\x00" + strings.ToLower(t.text)
	if _, known := c.terms[key]; !known && !c.tools[strings.ToLower(t.text)] {
		c.terms[key] = t
	}
}

// set indexes the collected terms.
func (c *collector) set() ValueSet {
	v := ValueSet{terms: map[string][]term{}, names: map[string]bool{}, count: len(c.terms)}
	for _, t := range c.terms {
		if t.kind == "name" {
			lower, length := strings.ToLower(t.text), utf8.RuneCountInString(t.text)
			switch {
			case isHan(t.text):
			case c.common[t.text]:
				t.weak = adjacent
			case length < 3 || ordinary()[lower]:
				t.weak = inside
			}
			t.exact = t.weak > alone || length < 4
			v.names[lower] = true
		}
		first := firstWord(t.text)
		v.terms[first] = append(v.terms[first], t)
	}
	for _, terms := range v.terms {
		slices.SortFunc(terms, func(a, b term) int {
			if len(a.text) != len(b.text) {
				return len(b.text) - len(a.text)
			}
			return strings.Compare(a.kind+a.text, b.kind+b.text)
		})
	}
	return v
}
