package library

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/index"
	"cairn/internal/domain/skill"
	"cairn/internal/service/search"
	"cairn/internal/store"
)

// Similar is an existing skill that a new one may duplicate.
type Similar struct {
	Name       string  `json:"name"`
	Similarity float64 `json:"similarity"`
	By         string  `json:"by"` // body, name or meaning
}

func (s Similar) note() string {
	return fmt.Sprintf("skill %q is similar (%s, %.2f): one of them may be enough", s.Name, s.By, s.Similarity)
}

// nearCosine is the minimum cosine similarity of duplicates.
const nearCosine = 0.90

// maxNamed is the maximum number of skills in an error.
const maxNamed = 5

// near lists the skills that v, a new version, may duplicate by body or name. Meant are those it
// duplicates by description.
func (l *Library) near(ctx context.Context, tx store.Tx, v skill.Version, meant []Similar) ([]Similar, error) {
	var out []Similar
	add := func(s Similar) {
		if !slices.ContainsFunc(out, func(o Similar) bool { return o.Name == s.Name }) {
			out = append(out, s)
		}
	}
	same, err := tx.Skills().SkillsOfBody(ctx, skill.BodyHash(v.Body))
	if err != nil {
		return nil, err
	}
	for _, name := range same {
		add(Similar{name, 1, "body"})
	}
	all, err := tx.Skills().SkillNames(ctx)
	if err != nil {
		return nil, err
	}
	for _, h := range all {
		if s := skill.NameSimilarity(v.Name, h.Name); s >= skill.MinNameSimilarity {
			add(Similar{h.Name, s, "name"})
		}
	}
	for _, s := range meant {
		add(s)
	}
	slices.SortStableFunc(out, func(a, b Similar) int { return cmp.Compare(b.Similarity, a.Similarity) })
	return out[:min(len(out), maxNamed)], nil
}

// meant lists the skills whose descriptions have the same meaning as v's. It calls the embedder, so
// it must run outside of a transaction. Without an embedder it returns none.
func (l *Library) meant(
	ctx context.Context,
	ws int64,
	v skill.Version,
	vector search.Vector,
) (out []Similar, err error) {
	if len(vector.Values) == 0 {
		return nil, nil
	}
	var heads []skill.Head
	err = l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		hits, err := tx.Documents().Search(ctx, index.Query{Kind: index.KindSkill,
			States: []string{string(skill.Active), string(skill.Candidate), string(skill.Stale)}, Vector: vector.Values,
			Space: vector.Space, Limit: 2 * maxNamed})
		if err != nil {
			return err
		}
		for _, h := range hits {
			head, err := tx.Skills().SkillHead(ctx, h.Owner)
			if err != nil {
				return err
			}
			heads = append(heads, head)
		}
		return nil
	})
	if err != nil || len(heads) == 0 {
		return nil, err
	}
	texts := []string{v.Description}
	for _, h := range heads {
		texts = append(texts, h.Description)
	}
	vectors, err := l.Embedder.Embed(ctx, texts)
	if err != nil || len(vectors) != len(texts) {
		return nil, nil //nolint:nilerr // embedder unavailable: compare only names and bodies
	}
	for i, h := range heads {
		cosine := 0.0
		for j, x := range vectors[0] {
			cosine += float64(x) * float64(vectors[i+1][j])
		}
		if cosine >= nearCosine {
			out = append(out, Similar{h.Name, cosine, "meaning"})
		}
	}
	return out, nil
}

func duplicate(name string, near []Similar) error {
	return fault.New(fault.DuplicateSuspect, fmt.Sprintf("%q duplicates skill %q", name, near[0].Name),
		fmt.Sprintf("read %q and change that skill instead", near[0].Name)).
		With("similar", near)
}

// unknown returns an error for an unknown name that suggests the nearest names.
func (l *Library) unknown(ctx context.Context, tx store.Tx, name string) error {
	all, err := tx.Skills().SkillNames(ctx)
	if err != nil {
		return err
	}
	e := fault.New(fault.NotFound, fmt.Sprintf("skill %q not found", clip(name)),
		"list the skills; an index in a prompt may be 30 minutes old")
	if near := nearest(skill.Canonical(name), all); len(near) > 0 {
		e = e.With("nearest", near)
		e.Hint = "did you mean " + strings.Join(near, ", ") +
			"? Otherwise list the skills; an index in a prompt may be 30 minutes old"
	}
	return e
}

func (l *Library) unknownNow(ctx context.Context, ws int64, name string) error {
	return l.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
		return l.unknown(ctx, tx, name)
	})
}

// nearest returns the names most similar to name, by words or, for typing errors, by characters.
func nearest(name string, all []skill.Head) []string {
	type scored struct {
		name  string
		score float64
	}
	var near []scored
	for _, h := range all {
		if s := max(skill.NameSimilarity(name, h.Name), pairs(name, h.Name)); s >= minNearest &&
			h.Status != skill.Archived {
			near = append(near, scored{h.Name, s})
		}
	}
	slices.SortFunc(near, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.name, b.name))
	})
	var out []string
	for _, n := range near[:min(len(near), maxNamed)] {
		out = append(out, n.name)
	}
	return out
}

// minNearest is the minimum similarity of a suggestion.
const minNearest = 0.3

// pairs returns the Jaccard similarity of the character pairs of two names.
func pairs(a, b string) float64 {
	set := func(s string) map[string]bool {
		out, r := map[string]bool{}, []rune(s)
		for i := range len(r) - 1 {
			out[string(r[i:i+2])] = true
		}
		return out
	}
	x, y := set(a), set(b)
	shared := 0
	for p := range x {
		if y[p] {
			shared++
		}
	}
	if shared == 0 {
		return 0
	}
	return float64(shared) / float64(len(x)+len(y)-shared)
}
