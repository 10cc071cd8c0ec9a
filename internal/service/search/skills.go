package search

import (
	"cmp"
	"context"

	"cairn/internal/domain/index"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/search"
	"cairn/internal/domain/skill"
)

// Embedder returns vectors for texts.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Finder searches the index.
type Finder struct {
	Index     index.Index
	Embedder  Embedder
	Space     int16
	Spaces    Spaces  // of workspaces with another space; nil if Embedder and Space serve all
	MinCosine float64 // below it, a document must match by words alone
	// VectorShare is the weight of the ranking by vector relative to the ranking by words, which is
	// 1. Use a small value if the embedder adds little to the words.
	VectorShare float64
	Profile     search.Profile // parameters of this deployment
}

// Found is a found skill.
type Found struct {
	Skill  skill.Head `json:"skill"`
	Score  float64    `json:"score"`
	Cosine float64    `json:"cosine"`
	Exact  bool       `json:"exact,omitempty"` // the query is its name
}

// Skills searches active skills, best match first. An exact name match comes first. Results below
// the relevance threshold are left out. Without an embedder, only words are compared.
func (f Finder) Skills(ctx context.Context, ws int64, text string, limit int) ([]Found, error) {
	return f.SkillsThatAre(ctx, ws, text, []skill.Status{skill.Active}, limit)
}

// SkillsThatAre is Skills for other states.
func (f Finder) SkillsThatAre(ctx context.Context, ws int64, text string, states []skill.Status, limit int) ([]Found,
	error) {
	reply, err := f.SearchSkills(ctx, ws, text, states, limit)
	return reply.Skills, err
}

// SkillReply is the result of a search for skills.
type SkillReply struct {
	Skills []Found
	Vector string // VectorUnavailable, or empty if vectors were compared
}

// SearchSkills is SkillsThatAre with the state of the vectors.
func (f Finder) SearchSkills(ctx context.Context, ws int64, text string, states []skill.Status, limit int) (
	SkillReply, error) {
	q := index.Query{Kind: index.KindSkill, Limit: 4 * limit}
	for _, s := range states {
		q.States = append(q.States, string(s))
	}
	f.fill(ctx, ws, &q, text)
	reply := SkillReply{Skills: []Found{}}
	if len(q.Vector) == 0 {
		reply.Vector = VectorUnavailable
	}
	hits, err := f.Index.FindSkills(ctx, ws, q, skill.Canonical(text))
	if err != nil {
		return SkillReply{}, err
	}
	for _, h := range hits {
		switch {
		case len(reply.Skills) == limit:
			return reply, nil
		case h.Named:
			reply.Skills = append(reply.Skills, Found{Skill: h.Head, Score: 1, Cosine: 1, Exact: true})
		case h.Cosine >= f.MinCosine || Relevant(h.Hit):
			reply.Skills = append(reply.Skills, Found{Skill: h.Head, Score: h.Score, Cosine: h.Cosine})
		}
	}
	return reply, nil
}

// fill sets the terms and, if an embedder is available, the vector of q. f gets the vector share of
// the workspace's space.
func (f *Finder) fill(ctx context.Context, ws int64, q *index.Query, text string) {
	for _, t := range lexical.Terms(text) {
		q.Terms = append(q.Terms, t.Hash)
	}
	space, err := SpacesOr(f.Spaces, Space{ID: f.Space, Embedder: f.Embedder}).Of(ctx, ws)
	if err != nil {
		return
	}
	if vs, err := space.Embedder.Embed(ctx, []string{text}); err == nil && len(vs) == 1 {
		q.Vector, q.Space = vs[0], space.ID
		f.VectorShare = cmp.Or(space.VectorShare, f.VectorShare)
	}
}
