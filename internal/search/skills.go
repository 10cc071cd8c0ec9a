package search

import (
	"context"
	"slices"

	"cairn/internal/search/lexical"
	"cairn/internal/skill"
)

// Index is where documents are kept.
type Index interface {
	// FindSkills ranks skills and reads the heads of those found; named is the
	// head whose canonical name the query is, if there is one.
	FindSkills(ctx context.Context, ws int64, q Query, name string) (hits []Hit, heads []skill.Head, named *skill.Head, err error)
}

// Embedder turns texts into vectors.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Finder answers searches.
type Finder struct {
	Index     Index
	Embedder  Embedder
	Space     int16
	MinCosine float64 // below it, words alone must make a document an answer
}

// Found is a skill that answers a query.
type Found struct {
	Skill  skill.Head `json:"skill"`
	Score  float64    `json:"score"`
	Cosine float64    `json:"cosine"`
	Exact  bool       `json:"exact,omitempty"` // the query is its name
}

// Skills finds the active skills that answer text, the best first. The skill whose name is the query comes before all; what is below the
// relevance floor is left out. Without an embedder words alone decide.
func (f Finder) Skills(ctx context.Context, ws int64, text string, limit int) ([]Found, error) {
	q := Query{Kind: KindSkill, States: []string{string(skill.Active)}, Space: f.Space, Limit: 4 * limit}
	for _, t := range lexical.Terms(text) {
		q.Terms = append(q.Terms, t.Hash)
	}
	if vs, err := f.Embedder.Embed(ctx, []string{text}); err == nil && len(vs) == 1 {
		q.Vector = vs[0]
	}
	hits, heads, named, err := f.Index.FindSkills(ctx, ws, q, skill.Canonical(text))
	if err != nil {
		return nil, err
	}
	out := []Found{}
	if named != nil {
		out = append(out, Found{Skill: *named, Score: 1, Cosine: 1, Exact: true})
	}
	for i, h := range hits {
		known := slices.ContainsFunc(out, func(o Found) bool { return o.Skill.ID == h.Owner })
		if len(out) < limit && !known && (h.Cosine >= f.MinCosine || Relevant(h)) {
			out = append(out, Found{Skill: heads[i], Score: h.Score, Cosine: h.Cosine})
		}
	}
	return out, nil
}
