package mem0api

import (
	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	"cairn/internal/service/search"
)

// getAll lists memories in the order of their creation.
func (c *call) getAll() (any, error) {
	q, err := c.query(listOptions, true)
	if err != nil {
		return nil, err
	}
	f := q.filter()
	f.Offset, f.Limit = (q.Page-1)*q.TopK, q.TopK
	entries, err := c.LongTerm.List(c.r.Context(), c.person(), f)
	return map[string]any{"results": q.shown(entries)}, err
}

func (c *call) deleteAll() (any, error) {
	q, err := c.query(deleteOptions, c.selfHosted())
	if err != nil {
		return nil, err
	}
	q.ShowExpired = true
	if err := q.compile(c.selfHosted()); err != nil {
		return nil, err
	}
	_, err = c.forget(q)
	return message("All relevant memories deleted"), err
}

// forget deletes the entries of a query, all or none, and returns their number.
func (c *call) forget(q mem0Query) (int, error) {
	items, err := c.LongTerm.DeleteWhere(c.r.Context(), c.person(), q.filter())
	return len(items), err
}

// search is the search of the self-hosted server.
func (c *call) search() (any, error) { return c.searched(true) }

// find is the search of the platform.
func (c *call) find() (any, error) { return c.searched(false) }

func (c *call) searched(self bool) (any, error) {
	q, err := c.query(searchOptions, self)
	if err != nil {
		return nil, err
	}
	ctx, ws := c.r.Context(), c.from.Workspace.ID
	r := search.Request{Query: q.Query, Kinds: []string{index.KindMemory}, Types: mem0Types,
		Limit: min(q.TopK, search.MaxFound), Targets: q.targets(), Where: q.where, Selective: q.selective}
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
	results := []any{}
	for _, e := range entries {
		score := scores[e.ID]
		if len(results) == q.TopK || e.Status != memory.Active || q.Threshold != nil && score < *q.Threshold {
			continue
		}
		m := mem0Of(e)
		m.Score = &score
		if q.Explain {
			m.Details = map[string]any{"semantic_score": near[e.ID], "final_score": score, "threshold": q.Threshold}
		}
		results = append(results, q.only(m))
	}
	return map[string]any{"results": results}, err
}
