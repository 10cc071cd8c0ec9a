package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/fault"
	"cairn/internal/service/memory"
)

// The tools of progressive memory have a different schema for each set of options. The schema is
// built from a typed item: properties that the options exclude are removed, and with several items
// per call the item becomes the element of a list.

// definition is one tool under one set of options.
type definition struct {
	spec   agent.ToolSpec
	list   string   // name of the list; if empty, the call is one item
	member string   // the list contains this property of the item instead of objects
	most   int      // maximum number of items in a call
	drop   []string // properties to remove
	need   []string // required properties in addition to those of the type
	shared []string // properties of the call that apply to each item
	bound  func(p map[string]*jsonschema.Schema)
}

// thinking is a property for the model's reasoning, placed before all others.
const thinking = "thinking"

// contextKeys are properties that the server sets. If a model sends them, they are ignored.
var contextKeys = []string{"workspace_id", "workspace", "memory_type", "memory_target", "ref_memory_id", "author"}

// given is one item that matches its schema.
type given[Item any] struct {
	Index int
	Value Item
}

// progressive builds a tool. Use gets the valid items; bad has the results of invalid ones, which
// use reports.
func progressive[Item, Out any](o Options, d definition,
	use func(ctx context.Context, a agent.Actor, items []given[Item], bad []memory.ItemResult) (Out, error)) (Tool,
	error) {
	fail := func(err error) (Tool, error) { return Tool{}, fmt.Errorf("tool %s: %w", d.spec.Name, err) }
	r, whole, err := d.reader(o, func() (*jsonschema.Schema, error) { return schemaOf[Item]() })
	if err != nil {
		return fail(err)
	}
	output, err := schemaOf[Out]()
	if err != nil {
		return fail(err)
	}
	if d.spec.Input, err = encoded(whole); err != nil {
		return fail(err)
	}
	if d.spec.Output, err = json.Marshal(output); err != nil {
		return fail(err)
	}
	d.spec.Origins = progressiveOrigins
	run := func(ctx context.Context, a agent.Actor, arguments json.RawMessage) (any, error) {
		raws, err := r.split(arguments)
		if err != nil {
			return nil, err
		}
		var items []given[Item]
		var bad []memory.ItemResult
		for i, raw := range raws {
			one := given[Item]{Index: i}
			if err := r.item(raw, &one.Value); err != nil {
				bad = append(bad, memory.FailedItem(i, err))
				continue
			}
			items = append(items, one)
		}
		if len(items) == 0 {
			return nil, memory.AllFailed(bad)
		}
		return use(ctx, a, items, bad)
	}
	return Tool{ToolSpec: d.spec, run: run}, nil
}

// progressiveOrigins may use tools of progressive memory. The Profile of an agent selects them.
var progressiveOrigins = append(slices.Clone(rememberers), agent.OriginDistill)

// reader splits the arguments of a call into items.
type reader struct {
	definition
	call    *jsonschema.Resolved // schema of the call with any items
	one     *jsonschema.Resolved // schema of an item with the properties next to the list
	atTop   []string             // properties of the call
	inItems []string
}

// reader returns the reader and the schema of the whole call.
func (d definition) reader(o Options, schema func() (*jsonschema.Schema, error)) (*reader, *jsonschema.Schema, error) {
	item, err := schema()
	if err != nil {
		return nil, nil, err
	}
	if d.bound != nil {
		d.bound(item.Properties)
	}
	for _, name := range d.drop {
		drop(item, name)
	}
	for _, name := range d.need {
		if !slices.Contains(item.Required, name) {
			item.Required = append(item.Required, name)
		}
	}
	r := &reader{definition: d, inItems: item.PropertyOrder}
	whole, loose := item, item
	if d.list != "" {
		whole, loose = d.wrap(item, true), d.wrap(item, false)
	}
	if o.Thinking {
		whole, loose = withThinking(whole), withThinking(loose)
	}
	r.atTop = whole.PropertyOrder
	if r.call, err = loose.Resolve(nil); err != nil {
		return nil, nil, err
	}
	if r.one, err = item.CloneSchemas().Resolve(nil); err != nil {
		return nil, nil, err
	}
	return r, whole, nil
}

// wrap returns the schema of a call with a list of items. If strict is false, items may be
// anything, because each is checked separately.
func (d definition) wrap(item *jsonschema.Schema, strict bool) *jsonschema.Schema {
	item = item.CloneSchemas()
	out := &jsonschema.Schema{Type: "object", AdditionalProperties: item.AdditionalProperties.CloneSchemas(),
		Properties: map[string]*jsonschema.Schema{}, Required: []string{d.list}, PropertyOrder: []string{d.list}}
	for _, name := range d.shared {
		out.Properties[name] = item.Properties[name]
		out.PropertyOrder = append(out.PropertyOrder, name)
		drop(item, name)
	}
	list := &jsonschema.Schema{Type: "array", MinItems: jsonschema.Ptr(1), MaxItems: jsonschema.Ptr(d.most),
		Items: item}
	if d.member != "" {
		list.Items = item.Properties[d.member]
	}
	if !strict {
		list.Items = nil
	}
	out.Properties[d.list] = list
	return out
}

func withThinking(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Properties[thinking] != nil {
		return s
	}
	s = s.CloneSchemas()
	if s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	s.Properties[thinking] = &jsonschema.Schema{Type: "string",
		Description: "your conclusions so far, and why you make this call"}
	s.PropertyOrder = append([]string{thinking}, s.PropertyOrder...)
	s.Required = append([]string{thinking}, s.Required...)
	return s
}

func drop(s *jsonschema.Schema, name string) {
	is := func(n string) bool { return n == name }
	delete(s.Properties, name)
	s.PropertyOrder = slices.DeleteFunc(slices.Clone(s.PropertyOrder), is)
	s.Required = slices.DeleteFunc(slices.Clone(s.Required), is)
}

// split checks the call and returns its items, each with the properties next to the list.
func (r *reader) split(arguments json.RawMessage) ([]json.RawMessage, error) {
	members, err := object(arguments)
	if err != nil {
		return nil, err
	}
	strip(members, r.atTop)
	if err := check(r.call, members); err != nil {
		return nil, err
	}
	delete(members, thinking)
	if r.list == "" {
		raw, err := json.Marshal(members)
		return []json.RawMessage{raw}, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(members[r.list], &list); err != nil {
		return nil, unfit(err)
	}
	for i, raw := range list {
		if list[i], err = r.joined(raw, members); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// joined returns an element of the list as an item. An element that is not an object is returned
// unchanged and fails the item check.
func (r *reader) joined(raw json.RawMessage, members map[string]json.RawMessage) (json.RawMessage, error) {
	item := map[string]json.RawMessage{}
	if r.member != "" {
		item[r.member] = raw
	} else if json.Unmarshal(raw, &item) != nil || item == nil {
		return raw, nil //nolint:nilerr // not an object
	}
	strip(item, r.inItems)
	for _, name := range r.shared {
		delete(item, name)
		if v, ok := members[name]; ok {
			item[name] = v
		}
	}
	return json.Marshal(item)
}

func (r *reader) item(raw json.RawMessage, into any) error {
	members, err := object(raw)
	if err != nil {
		return err
	}
	if err := check(r.one, members); err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return unfit(err)
	}
	return nil
}

// strip removes properties that the server sets, unless the tool has them.
func strip(members map[string]json.RawMessage, known []string) {
	for _, key := range contextKeys {
		if !slices.Contains(known, key) {
			delete(members, key)
		}
	}
}

func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if len(raw) > maxArguments {
		return nil, fault.New(fault.TooLarge,
			fmt.Sprintf("arguments have %d bytes, the limit is %d", len(raw), maxArguments),
			"send less data per call")
	}
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	var out map[string]json.RawMessage
	if err := json.Unmarshal(raw, &out); err != nil || out == nil {
		return nil, fault.New(fault.InvalidArgument, fmt.Sprintf("arguments are not a JSON object: %.80s", raw),
			"send one JSON object that matches the schema of the tool")
	}
	return out, nil
}

func check(schema *jsonschema.Resolved, members map[string]json.RawMessage) error {
	loose := make(map[string]any, len(members))
	for name, raw := range members {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			return unfit(err)
		}
		loose[name] = v
	}
	if err := schema.Validate(loose); err != nil {
		return unfit(err)
	}
	return nil
}

func unfit(err error) error {
	return fault.New(fault.InvalidArgument, "invalid arguments: "+complaint(err),
		"correct the arguments and repeat the call")
}
