package guard

import (
	"cmp"
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

	dates      map[day]bool        // true for a birth date
	amounts    map[string]string   // kinds, amount or number, by value
	places     map[string][]string // by their first word, longest first
	attributes map[string][]term   // that identify a person together, by their first word, longest first
	messages   map[uint64][]int32  // positions of users' messages, by the sequences of words in them
	stated     stated
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
// telephone numbers, IDs like mia_li_3668, dates, amounts of money, and routes. Names of tools and
// enumerated words (economy, round_trip) are not values, nor are dates, numbers and routes that a
// system prompt or a user's rule states.
func Values(messages []transcript.Message) ValueSet {
	c := collector{terms: map[string]term{}, tools: map[string]bool{}, common: map[string]bool{},
		dates: map[day]bool{}, amounts: map[string]string{}, places: map[string]bool{}, attributes: map[term]bool{}}
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
	v := c.set()
	v.state(rules(messages))
	v.remember(messages)
	return v
}

// collector collects terms by kind and text.
type collector struct {
	terms  map[string]term
	tools  map[string]bool
	common map[string]bool // words of values that are not names, as written

	dates      map[day]bool      // true for a birth date
	amounts    map[string]string // kinds by value
	places     map[string]bool
	attributes map[term]bool
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
	v := ValueSet{terms: map[string][]term{}, names: map[string]bool{}, dates: c.dates, amounts: c.amounts,
		places: map[string][]string{}, attributes: map[string][]term{},
		count: len(c.terms) + len(c.dates) + len(c.amounts) + len(c.places)}
	for place, usable := range c.places {
		if first := firstWord(place); usable && first != "" {
			v.places[first] = append(v.places[first], place)
		}
	}
	for _, places := range v.places {
		slices.SortFunc(places, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	}
	for t := range c.attributes {
		v.attributes[firstWord(t.text)] = append(v.attributes[firstWord(t.text)], t)
	}
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
	for _, index := range []map[string][]term{v.terms, v.attributes} {
		for _, terms := range index {
			slices.SortFunc(terms, func(a, b term) int {
				return cmp.Or(len(b.text)-len(a.text), strings.Compare(a.kind+a.text, b.kind+b.text))
			})
		}
	}
	return v
}
