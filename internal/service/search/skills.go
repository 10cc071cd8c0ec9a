package search

import (
	"context"

	"cairn/internal/domain/lexical"
	"cairn/internal/domain/skill"
)

// Index is where documents are kept.
type Index interface {
	// FindSkills ranks skills, the best first; the one whose canonical name is
	// name comes before all, ranked or not.
	FindSkills(ctx context.Context, ws int64, q Query, name string) ([]SkillHit, error)
	// Read calls read in one transaction on the workspace's index.
	Read(ctx context.Context, ws int64, read func(context.Context, Reader) error) error
}

// SkillHit is a ranked skill.
type SkillHit struct {
	Hit
	Head  skill.Head
	Named bool // by the query, exactly
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
	// VectorShare is what the first place by vector counts beside the first by
	// words, which is 1: little when the embedder knows no more than the words.
	VectorShare float64
}

// Found is a skill that answers a query.
type Found struct {
	Skill  skill.Head `json:"skill"`
	Score  float64    `json:"score"`
	Cosine float64    `json:"cosine"`
	Exact  bool       `json:"exact,omitempty"` // the query is its name
}

// Skills finds the active skills that answer text, the best first. The skill whose name is the query comes before all;
// what is below the relevance floor is left out. Without an embedder words alone decide.
func (f Finder) Skills(ctx context.Context, ws int64, text string, limit int) ([]Found, error) {
	return f.SkillsThatAre(ctx, ws, text, []skill.Status{skill.Active}, limit)
}

// SkillsThatAre is Skills of those of some states.
func (f Finder) SkillsThatAre(ctx context.Context, ws int64, text string, states []skill.Status, limit int) ([]Found,
	error) {
	q := Query{Kind: KindSkill, Limit: 4 * limit}
	for _, s := range states {
		q.States = append(q.States, string(s))
	}
	f.fill(ctx, &q, text)
	hits, err := f.Index.FindSkills(ctx, ws, q, skill.Canonical(text))
	if err != nil {
		return nil, err
	}
	out := []Found{}
	for _, h := range hits {
		switch {
		case len(out) == limit:
			return out, nil
		case h.Named:
			out = append(out, Found{Skill: h.Head, Score: 1, Cosine: 1, Exact: true})
		case h.Cosine >= f.MinCosine || Relevant(h.Hit):
			out = append(out, Found{Skill: h.Head, Score: h.Score, Cosine: h.Cosine})
		}
	}
	return out, nil
}

// fill puts the words and, when an embedder is at hand, the vector of text into q.
func (f Finder) fill(ctx context.Context, q *Query, text string) {
	q.Space = f.Space
	for _, t := range lexical.Terms(text) {
		q.Terms = append(q.Terms, t.Hash)
	}
	if vs, err := f.Embedder.Embed(ctx, []string{text}); err == nil && len(vs) == 1 {
		q.Vector = vs[0]
	}
}
