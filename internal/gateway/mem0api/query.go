package mem0api

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/service/longterm"
	"cairn/internal/service/search"
)

// mem0Query is the query of a search, a list or a deletion.
type mem0Query struct {
	entity
	Query       string         `json:"query"`
	Filters     map[string]any `json:"filters"`
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
}

const (
	mem0TopK = 20
	mem0Most = 1000

	mem0MostPage = 1_000_000
)

// query parses the body or the query parameters.
func (c *call) query() (q mem0Query, err error) {
	if err = c.read(&q); err != nil {
		return q, err
	}
	given := c.r.URL.Query()
	number := func(name string) int { n, _ := strconv.Atoi(given.Get(name)); return n }
	q.TopK = cmp.Or(q.TopK, q.Limit, q.PageSize, number("top_k"), number("limit"), number("page_size"), mem0TopK)
	q.Page = max(cmp.Or(q.Page, number("page")), 1)
	if q.Page > mem0MostPage {
		return q, fault.Newf(fault.InvalidArgument, "invalid page %d: must be 1 to %d", q.Page, mem0MostPage)
	}
	q.ShowExpired = q.ShowExpired || given.Get("show_expired") == "true"
	if q.TopK < 1 || q.TopK > mem0Most {
		return q, fault.Newf(fault.InvalidArgument, "invalid top_k %d: must be 1 to %d", q.TopK, mem0Most)
	}
	if q.Filters == nil {
		q.Filters = map[string]any{}
	}
	for _, kind := range entityKinds {
		if name := cmp.Or(*q.entity.named(kind), given.Get(kind+"_id")); name != "" {
			q.Filters[kind+"_id"] = name
		}
	}
	if !named(q.Filters) {
		return q, noEntity
	}
	for name, value := range q.Metadata {
		if _, taken := q.Filters[name]; !taken {
			q.Filters[name] = value
		}
	}
	q.between()
	_, err = fits(q.Filters, memory.Entry{}) // reports invalid filters instead of ignoring them
	return q, err
}

// between adds filters for the date range of a list.
func (q mem0Query) between() {
	var bounds []any
	if q.From != "" {
		bounds = append(bounds, map[string]any{"created_at": map[string]any{"gte": q.From}})
	}
	if q.To != "" {
		// a date without a time includes the whole day
		bounds = append(bounds, map[string]any{"created_at": map[string]any{"lt": q.To + "~"}})
	}
	if len(bounds) == 0 {
		return
	}
	if others, ok := q.Filters["AND"]; ok {
		bounds = append(bounds, map[string]any{"AND": others})
	}
	q.Filters["AND"] = bounds
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
		for _, one := range f {
			if named(one) {
				return true
			}
		}
	}
	return false
}

// targets returns the targets that all memories of the query can have, or nil for any
// target.
func (q mem0Query) targets() []string {
	text := func(name string) string { v, _ := q.Filters[name].(string); return v }
	if user := text("user_id"); user != "" && user != "*" {
		return []string{user}
	}
	return nil // memories of an agent or a run may have users as targets
}

// stamped returns the metadata that all memories of the query have.
func (q mem0Query) stamped() memory.Metadata {
	for _, name := range []string{"run_id", "app_id"} {
		if v, _ := q.Filters[name].(string); v != "" && v != "*" {
			return memory.Metadata{mem0Facts: map[string]any{name: v}}
		}
	}
	return nil
}

// holds reports whether an entry matches the query.
func (q mem0Query) holds(e memory.Entry) bool {
	if e.Status != memory.Active || !slices.Contains(mem0Types, e.Type) {
		return false
	}
	if until := factsOf(e).Expires; until != "" && !q.ShowExpired && until < time.Now().UTC().Format(time.DateOnly) {
		return false
	}
	ok, err := fits(q.Filters, e)
	return ok && err == nil
}

// all lists the entries of a query in the order of their creation.
func (c *call) all(q mem0Query, most int) (out []memory.Entry, err error) {
	f := memory.Filter{Types: mem0Types, Targets: q.targets(), Metadata: q.stamped(), Limit: longterm.MostListed}
	for {
		page, err := c.LongTerm.List(c.r.Context(), c.person(), f)
		if err != nil {
			return nil, err
		}
		for _, e := range page {
			f.After = e.Key
			if q.holds(e) {
				if out = append(out, e); len(out) == most {
					return out, nil
				}
			}
		}
		if len(page) < f.Limit {
			return out, nil
		}
	}
}

func (c *call) getAll() (any, error) {
	q, err := c.query()
	if err != nil {
		return nil, err
	}
	entries, err := c.all(q, q.Page*q.TopK)
	results := []mem0Memory{}
	for _, e := range entries[min((q.Page-1)*q.TopK, len(entries)):] {
		results = append(results, mem0Of(e))
	}
	return map[string]any{"results": results}, err
}

func (c *call) deleteAll() (any, error) {
	q, err := c.query()
	if err != nil {
		return nil, err
	}
	_, err = c.forget(q)
	return message("All relevant memories deleted"), err
}

// forget deletes the entries of a query and returns their number.
func (c *call) forget(q mem0Query) (int, error) {
	q.ShowExpired = true
	entries, err := c.all(q, -1)
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	var deletions []longterm.DeleteRequest
	for i, e := range entries {
		deletions = append(deletions, longterm.DeleteRequest{Index: i, ID: e.ID})
	}
	_, err = c.LongTerm.DeleteMemories(c.r.Context(), c.person(), deletions)
	return len(deletions), err
}

func (c *call) search() (any, error) {
	q, err := c.query()
	if err != nil {
		return nil, err
	}
	ctx, ws := c.r.Context(), c.from.Workspace.ID
	r := search.Request{Query: q.Query, Kinds: []string{search.KindMemory}, Types: mem0Types, Limit: search.MostFound}
	for _, name := range q.targets() {
		if t, err := memory.NewTarget(memory.Personal, name); err == nil {
			r.Targets = append(r.Targets, t.Key)
		}
	}
	found, err := c.Finder.Find(ctx, ws, r)
	if err != nil {
		return nil, err
	}
	var ids []string
	scores, near := map[string]float64{}, map[string]float64{}
	for _, f := range found {
		near[f.ID] = f.Cosine
		ids, scores[f.ID] = append(ids, f.ID), max(f.Cosine, 0.1) // a full-text match has at least a low score
		if f.Exact {
			scores[f.ID] = 1
		}
	}
	entries, err := c.LongTerm.Get(ctx, c.person(), ids...)
	results := []mem0Memory{}
	for _, e := range entries {
		score := scores[e.ID]
		if len(results) == q.TopK || !q.holds(e) || q.Threshold != nil && score < *q.Threshold {
			continue
		}
		m := mem0Of(e)
		m.Score = &score
		if q.Explain {
			m.Details = map[string]any{"semantic_score": near[e.ID], "final_score": score, "threshold": q.Threshold}
		}
		results = append(results, m)
	}
	return map[string]any{"results": results}, err
}
