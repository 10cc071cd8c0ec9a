package mem0api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
)

// Limits of a filter.
const (
	filterDepth = 8
	filterParts = 200
)

// fields are the fields that filters compare, by their names.
var fields = map[string]memory.Field{
	"user_id": memory.FieldUser, "agent_id": memory.FieldAgent, "app_id": memory.FieldApp, "run_id": memory.FieldRun,
	"created_at": memory.FieldCreated, "updated_at": memory.FieldUpdated, "timestamp": memory.FieldTimestamp,
	"expiration_date": memory.FieldExpiration, "text": memory.FieldContent, "categories": memory.FieldCategories,
	"metadata": memory.FieldMetadata, "keywords": memory.FieldContent, "keywords_search": memory.FieldContent,
	"memory_ids": memory.FieldID,
}

// filterKeys lists the keys of filters for errors.
const filterKeys = "user_id, agent_id, app_id, run_id, created_at, updated_at, timestamp, expiration_date, text, " +
	"categories, metadata, keywords, keywords_search, memory_ids, AND, OR, NOT"

// filterParser compiles mem0's filters. Keys of a flat object are joined by AND.
type filterParser struct {
	self  bool // of mem0's self-hosted server, which has plain metadata keys and more operators
	parts int
}

func (p *filterParser) parse(filter any) (*memory.Condition, error) {
	out, err := p.object(filter, 0)
	return &out, err
}

func badFilter(format string, args ...any) error {
	return fault.New(fault.InvalidArgument, fmt.Sprintf(format, args...),
		"docs/how-to/mem0.md lists the keys and operators of filters")
}

// object compiles an object, all of whose members must hold.
func (p *filterParser) object(filter any, depth int) (memory.Condition, error) {
	members, ok := filter.(map[string]any)
	if !ok {
		return memory.Condition{}, badFilter("filter must be a JSON object")
	}
	if depth > filterDepth {
		return memory.Condition{}, badFilter("filter has more than %d levels of AND, OR and NOT", filterDepth)
	}
	var parts []memory.Condition
	for _, name := range slices.Sorted(maps.Keys(members)) {
		part, err := p.member(name, members[name], depth)
		if err != nil {
			return memory.Condition{}, err
		}
		parts = append(parts, part)
	}
	return *memory.AllOf(parts...), nil
}

var joints = map[string]memory.Joint{"AND": memory.All, "OR": memory.Any, "NOT": memory.None}

func (p *filterParser) member(name string, v any, depth int) (memory.Condition, error) {
	if joint, ok := joints[strings.ToUpper(name)]; ok {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		out := memory.Condition{Joint: joint}
		for _, one := range list {
			part, err := p.object(one, depth+1)
			if err != nil {
				return out, err
			}
			out.Parts = append(out.Parts, part)
		}
		return out, nil
	}
	if p.parts++; p.parts > filterParts {
		return memory.Condition{}, badFilter("filter has more than %d conditions", filterParts)
	}
	field, known := fields[name]
	switch {
	case name == "memory" && p.self:
		field = memory.FieldContent
	case !known && p.self:
		how, isObject := v.(map[string]any)
		if isObject && !hasOperator(how) {
			return memory.Condition{}, badFilter("%.40s has no known operator", name)
		}
		return p.metadata(name, v)
	case !known:
		return memory.Condition{}, badFilter("unknown filter key %.40q: use %s; compare members of metadata with "+
			`{"metadata": {"name": "value"}}`, name, filterKeys)
	}
	switch field {
	case memory.FieldMetadata:
		return p.metadataOf(v)
	case memory.FieldCreated, memory.FieldUpdated, memory.FieldTimestamp, memory.FieldExpiration:
		return p.compare(name, v, memory.Condition{Field: field}, p.times(), timed)
	case memory.FieldID:
		return p.compare(name, v, memory.Condition{Field: field}, []string{"in"}, text)
	case memory.FieldCategories:
		return p.compare(name, v, memory.Condition{Field: field}, []string{"in", "contains"}, text)
	case memory.FieldContent:
		return p.content(name, v)
	}
	return p.compare(name, v, memory.Condition{Field: field}, p.more([]string{"eq", "ne", "in"}, "nin"), entityID)
}

func (p *filterParser) more(operators []string, others ...string) []string {
	if p.self {
		operators = append(operators, others...)
	}
	return operators
}

func (p *filterParser) times() []string {
	return p.more([]string{"gt", "gte", "lt", "lte", "ne", "in"}, "eq", "nin")
}

// content compares the text of a memory.
func (p *filterParser) content(name string, v any) (memory.Condition, error) {
	c := memory.Condition{Field: memory.FieldContent}
	if _, plain := v.(string); plain && name == "keywords_search" {
		v = map[string]any{"icontains": v}
	}
	operators := []string{"contains", "icontains"}
	if name == "text" || name == "memory" {
		operators = p.more([]string{"eq", "ne", "contains", "icontains"}, "in", "nin")
	} else if _, ok := v.(map[string]any); !ok && v != "*" {
		return c, badFilter("%s must be an object with one of %s", name, strings.Join(operators, ", "))
	}
	return p.compare(name, v, c, operators, text)
}

// metadataOf compares members of metadata. An operator may have an object of members, or each member an object of
// operators.
func (p *filterParser) metadataOf(v any) (memory.Condition, error) {
	if v == "*" {
		return *memory.AllOf(), nil // all memories have metadata
	}
	members, ok := v.(map[string]any)
	if !ok {
		return memory.Condition{}, badFilter(`metadata must be an object such as {"name": "value"}`)
	}
	var parts []memory.Condition
	for _, name := range slices.Sorted(maps.Keys(members)) {
		inner, nested := members[name].(map[string]any)
		if !nested || !slices.Contains([]string{"eq", "ne", "contains"}, name) {
			part, err := p.metadata(name, members[name])
			if err != nil {
				return part, err
			}
			parts = append(parts, part)
			continue
		}
		for _, member := range slices.Sorted(maps.Keys(inner)) {
			part, err := p.metadata(member, map[string]any{name: inner[member]})
			if err != nil {
				return part, err
			}
			parts = append(parts, part)
		}
	}
	if p.parts += len(parts); p.parts > filterParts {
		return memory.Condition{}, badFilter("filter has more than %d conditions", filterParts)
	}
	return *memory.AllOf(parts...), nil
}

// metadata compares one member of metadata.
func (p *filterParser) metadata(name string, v any) (memory.Condition, error) {
	if name == mem0Facts {
		return memory.Condition{}, badFilter("unknown filter key %q", name)
	}
	operators := p.more([]string{"eq", "ne", "contains"}, "in", "nin", "gt", "gte", "lt", "lte", "icontains")
	return p.compare(name, v, memory.Condition{Field: memory.FieldMetadata, Key: name}, operators, anyValue)
}

// conversion converts a value of a filter. A comparison can become several.
type conversion func(name string, c memory.Condition, values []any) (memory.Condition, error)

// compare compiles the value of a key: *, an object of operators, a list, or a value to equal.
func (p *filterParser) compare(name string, v any, c memory.Condition, operators []string, convert conversion) (
	memory.Condition, error) {
	if v == "*" {
		c.How = memory.Present
		return c, nil
	}
	how, isObject := v.(map[string]any)
	if isObject && c.Field == memory.FieldMetadata && len(how) > 0 && !hasOperator(how) { // an object to equal
		c.How = memory.Equal
		return convert(name, c, []any{v})
	}
	if !isObject {
		c.How = memory.Equal
		list, isList := v.([]any)
		switch {
		case !isList && c.Field == memory.FieldID:
			return c, badFilter("%s must be a list", name)
		case !isList:
			return convert(name, c, []any{v})
		case !slices.Contains(operators, "in"):
			return c, badFilter("%s cannot be a list: use an object with one of %s", name,
				strings.Join(operators, ", "))
		}
		return convert(name, c, list)
	}
	if len(how) == 0 {
		return c, badFilter(
			"%s is empty: use a value, or an object with one of %s",
			name,
			strings.Join(operators, ", "),
		)
	}
	var parts []memory.Condition
	for _, operator := range slices.Sorted(maps.Keys(how)) {
		if !slices.Contains(operators, operator) {
			return c, badFilter("unknown operator %.20q of %s: use one of %s", operator, name,
				strings.Join(operators, ", "))
		}
		part, err := operated(name, operator, how[operator], c, convert)
		if err != nil {
			return c, err
		}
		parts = append(parts, part)
	}
	return *memory.AllOf(parts...), nil
}

var comparisons = map[string]memory.Comparison{"eq": memory.Equal, "in": memory.Equal, "ne": memory.Different,
	"nin": memory.Different, "gt": memory.Greater, "gte": memory.AtLeast, "lt": memory.Less, "lte": memory.AtMost,
	"contains": memory.Contains, "icontains": memory.ContainsFold}

func hasOperator(members map[string]any) bool {
	for name := range members {
		if _, known := comparisons[name]; known {
			return true
		}
	}
	return false
}

func operated(name, operator string, v any, c memory.Condition, convert conversion) (memory.Condition, error) {
	c.How = comparisons[operator]
	if v == "*" && operator == "eq" {
		c.How = memory.Present
		return c, nil
	}
	list, isList := v.([]any)
	switch {
	case operator == "in" || operator == "nin" || operator == "contains" && c.Field == memory.FieldCategories && isList:
		if !isList {
			return c, badFilter("value of %q of %s must be a list", operator, name)
		}
		return convert(name, c, list)
	case isList && c.Field != memory.FieldMetadata:
		return c, badFilter("value of %q of %s must not be a list", operator, name)
	}
	return convert(name, c, []any{v})
}

// text converts values to texts.
func text(name string, c memory.Condition, values []any) (memory.Condition, error) {
	for _, v := range values {
		switch one := v.(type) {
		case string:
			c.Values = append(c.Values, memory.Value{Text: one})
		case json.Number:
			c.Values = append(c.Values, memory.Value{Text: one.String()})
		default:
			return c, badFilter("values of %s must be texts", name)
		}
	}
	return c, nil
}

// entityID converts values to IDs of entities, in the form in which they are stored.
func entityID(name string, c memory.Condition, values []any) (memory.Condition, error) {
	c, err := text(name, c, values)
	for i := range c.Values {
		c.Values[i].Text = norm.NFC.String(c.Values[i].Text)
	}
	return c, err
}

// anyValue keeps values of metadata.
func anyValue(_ string, c memory.Condition, values []any) (memory.Condition, error) {
	for _, v := range values {
		raw, err := json.Marshal(v)
		if err != nil {
			return c, badFilter("invalid value: %v", err)
		}
		plain, isText := v.(string)
		if !isText {
			plain = string(raw)
		}
		c.Values = append(c.Values, memory.Value{JSON: raw, Text: plain})
	}
	return c, nil
}
