package mem0api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
)

// mem0Query is the query of a search, a list or a deletion.
type mem0Query struct {
	entity
	Query       string         `json:"query"`
	Filters     any            `json:"filters"`
	TopK        int            `json:"top_k"`
	Limit       int            `json:"limit"` // former name of top_k
	Page        int            `json:"page"`
	PageSize    int            `json:"page_size"`
	Threshold   *float64       `json:"threshold"`
	ShowExpired bool           `json:"show_expired"`
	Explain     bool           `json:"explain"`    // includes the parts of a score
	Metadata    map[string]any `json:"metadata"`   // required metadata members
	From        string         `json:"start_date"` // range of creation dates, inclusive
	To          string         `json:"end_date"`
	Categories  []string       `json:"categories"` // one of these
	Keywords    any            `json:"keywords"`   // words of the text
	Fields      []string       `json:"fields"`     // members of results; empty for all

	where     *memory.Condition
	selective bool // where requires more than a user
}

const (
	mem0TopK     = 20  // results of a search
	mem0ListSize = 100 // entries of a list
	mem0Most     = 1000

	mem0MostPage = 1_000_000
)

// query parses the body or the query parameters. self is for routes of the self-hosted server.
func (c *call) query(o options, self bool) (q mem0Query, err error) {
	if err = c.examine(o); err != nil {
		return q, err
	}
	if err = c.readQuery(&q); err != nil {
		return q, err
	}
	usual := mem0ListSize
	if q.Query != "" || self {
		usual = mem0TopK
	}
	q.TopK = cmp.Or(q.TopK, q.Limit, q.PageSize, usual)
	q.Page = max(q.Page, 1)
	if q.Page > mem0MostPage {
		return q, fault.Newf(fault.InvalidArgument, "invalid page %d: must be 1 to %d", q.Page, mem0MostPage)
	}
	if q.TopK < 1 || q.TopK > mem0Most {
		return q, fault.Newf(fault.InvalidArgument, "invalid top_k %d: must be 1 to %d", q.TopK, mem0Most)
	}
	return q, q.compile(self)
}

// readQuery reads the body, and the parameters of the URL that the body does not have.
func (c *call) readQuery(q *mem0Query) error {
	if err := c.read(q); err != nil {
		return err
	}
	if len(c.body) > 0 { // again, with the digits of numbers in filters
		var exact struct {
			Filters  any
			Metadata map[string]any
		}
		if err := decodeJSON(c.body, &exact); err == nil {
			q.Filters, q.Metadata = exact.Filters, exact.Metadata
		}
	}
	given := c.r.URL.Query()
	for name, into := range map[string]*int{"top_k": &q.TopK, "limit": &q.Limit, "page": &q.Page,
		"page_size": &q.PageSize} {
		if n, err := strconv.Atoi(given.Get(name)); err == nil && *into == 0 {
			*into = n
		} else if given.Get(name) != "" && err != nil {
			return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid %s %.40q", name, given.Get(name)),
				"use a number, such as 20")
		}
	}
	for _, kind := range entityKinds {
		if field := q.entity.named(kind); *field == "" {
			*field = given.Get(kind + "_id")
		}
	}
	q.ShowExpired = q.ShowExpired || strings.EqualFold(given.Get("show_expired"), "true")
	q.From, q.To = cmp.Or(q.From, given.Get("start_date")), cmp.Or(q.To, given.Get("end_date"))
	if q.Categories == nil {
		q.Categories = listed(given, "categories")
	}
	if q.Fields == nil {
		q.Fields = listed(given, "fields")
	}
	if word := given.Get("keywords"); q.Keywords == nil && word != "" {
		q.Keywords = word
	}
	if text := given.Get("metadata"); q.Metadata == nil && text != "" {
		v, err := value("metadata", text)
		members, isObject := v.(map[string]any)
		if err == nil && !isObject {
			err = fault.New(fault.InvalidArgument, "metadata must be an object", `use {"name": "value"}`)
		}
		if err != nil {
			return err
		}
		q.Metadata = members
	}
	if text := given.Get("filters"); q.Filters == nil && text != "" {
		v, err := value("filters", text)
		if err != nil {
			return err
		}
		q.Filters = v
	}
	return nil
}

// listed returns a parameter that is repeated, or is a list with commas.
func listed(given url.Values, name string) []string {
	values := given[name]
	if len(values) == 1 {
		return strings.Split(values[0], ",")
	}
	return values
}

// compile sets where from the filters and the other options.
func (q *mem0Query) compile(self bool) error {
	given, isObject := q.Filters.(map[string]any)
	if q.Filters != nil && !isObject {
		return badFilter("filters must be a JSON object")
	}
	all := []any{}
	if len(given) > 0 {
		all = append(all, given)
	}
	for _, kind := range entityKinds {
		if name := *q.entity.named(kind); name != "" {
			all = append(all, map[string]any{kind + "_id": name})
		}
	}
	if !named(all) {
		return noEntity
	}
	if len(q.Metadata) > 0 {
		all = append(all, map[string]any{"metadata": map[string]any{"eq": q.Metadata}})
	}
	if len(q.Categories) > 0 {
		all = append(all, map[string]any{"categories": anyOf(q.Categories)})
	}
	switch word := q.Keywords.(type) {
	case nil:
	case string:
		all = append(all, map[string]any{"keywords": map[string]any{"icontains": word}})
	default:
		all = append(all, map[string]any{"keywords": word})
	}
	if q.From != "" {
		all = append(all, map[string]any{"created_at": map[string]any{"gte": q.From}})
	}
	if q.To != "" {
		all = append(all, map[string]any{"created_at": map[string]any{"lte": q.To}})
	}
	p := filterParser{self: self}
	parts := []memory.Condition{}
	for _, one := range all {
		part, err := p.parse(one)
		if err != nil {
			return err
		}
		parts = append(parts, *part)
	}
	q.where = memory.AllOf(parts...)
	q.selective = len(users(q.where)) == 0 || p.parts > 1 || len(q.Metadata) > 0
	if !q.ShowExpired {
		today := memory.Value{Text: time.Now().UTC().Format(time.DateOnly)}
		q.where.Parts = append(q.where.Parts, memory.Condition{Joint: memory.None, Parts: []memory.Condition{
			{Field: memory.FieldExpiration, How: memory.Less, Values: []memory.Value{today}}}})
	}
	return nil
}

func anyOf(names []string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = name
	}
	return out
}

// users returns the comparison with users that must hold, or nil.
func users(c *memory.Condition) []memory.Condition {
	switch {
	case c.Joint == memory.All:
		for i := range c.Parts {
			if found := users(&c.Parts[i]); found != nil {
				return found
			}
		}
	case c.Field == memory.FieldUser && c.How == memory.Equal && c.Joint == "":
		return []memory.Condition{*c}
	}
	return nil
}

// isEntity reports whether a member of a filter names an entity.
func isEntity(name string) bool {
	kind, ok := strings.CutSuffix(name, "_id")
	return ok && slices.Contains(entityKinds, kind)
}

// named reports whether a filter selects an entity.
func named(filter any) bool {
	switch f := filter.(type) {
	case map[string]any:
		for name, v := range f {
			if isEntity(name) || (name == "AND" || name == "OR") && named(v) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(f, named)
	}
	return false
}

// targets returns the IDs of the targets that all memories of the query have, or nil for any target.
func (q mem0Query) targets() (keys []string) {
	for _, c := range users(q.where) {
		for _, v := range c.Values {
			keys = append(keys, v.Text)
		}
	}
	return keys
}

// filter selects the entries of a list or a deletion.
func (q mem0Query) filter() memory.Filter {
	return memory.Filter{Types: mem0Types, Where: q.where}
}

// shown returns entries with the fields that the query asks for.
func (q mem0Query) shown(entries []memory.Entry) []any {
	out := []any{}
	for _, e := range entries {
		out = append(out, q.only(mem0Of(e)))
	}
	return out
}

// only returns a memory with the fields that the query asks for.
func (q mem0Query) only(m mem0Memory) any {
	if len(q.Fields) == 0 {
		return m
	}
	raw, _ := json.Marshal(m) // it has plain members
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members)
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return !slices.Contains(q.Fields, name) })
	return members
}
