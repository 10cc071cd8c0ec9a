package library

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/skill"
	"cairn/internal/service/search"
)

// Similar is a skill that a new one may repeat.
type Similar struct {
	Name       string  `json:"name"`
	Similarity float64 `json:"similarity"`
	By         string  `json:"by"` // body, name or meaning
}

func (s Similar) note() string {
	return fmt.Sprintf("skill %q is much like it (%s, %.2f): one of them may be enough", s.Name, s.By, s.Similarity)
}

// nearCosine is how near two skills must be in meaning to be taken for one.
const nearCosine = 0.90

// maxNamed is how many skills an error names.
const maxNamed = 5

// near lists the skills that v, which is about to be created, may repeat by its
// body or its name; meant are those that it repeats by what it says of itself.
func (l *Library) near(ctx context.Context, tx Tx, v skill.Version, meant []Similar) ([]Similar, error) {
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

// meant lists the skills whose descriptions mean what v's does. It asks the
// embedder, hence no transaction; without one there are none.
func (l *Library) meant(ctx context.Context, ws int64, v skill.Version, vector []float32) (out []Similar, err error) {
	if len(vector) == 0 {
		return nil, nil
	}
	var heads []skill.Head
	err = l.Store.WithLibrary(ctx, ws, func(ctx context.Context, tx Tx) error {
		hits, err := tx.Skills().Search(ctx, search.Query{Kind: search.KindSkill,
			States: []string{string(skill.Active), string(skill.Candidate), string(skill.Stale)}, Vector: vector,
			Space: l.Space, Limit: 2 * maxNamed})
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
		return nil, nil // the embedder is down: names and bodies decide
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
	return fault.New(fault.DuplicateSuspect, fmt.Sprintf("%q would repeat skill %q", name, near[0].Name),
		fmt.Sprintf("view %q with skill_view and patch that one instead", near[0].Name)).
		With("similar", near)
}

// unknown says that there is no skill of a name, and which names are nearest.
func (l *Library) unknown(ctx context.Context, tx Tx, name string) error {
	all, err := tx.Skills().SkillNames(ctx)
	if err != nil {
		return err
	}
	e := fault.New(fault.NotFound, fmt.Sprintf("there is no skill %q", clip(name)),
		"the index in your prompt is a snapshot that may be half an hour old; call skill_list")
	if near := nearest(skill.Canonical(name), all); len(near) > 0 {
		e = e.With("nearest", near)
		e.Hint = "did you mean " + strings.Join(near, ", ") +
			"? Otherwise call skill_list: the index in your prompt is a snapshot that may be half an hour old"
	}
	return e
}

func (l *Library) unknownNow(ctx context.Context, ws int64, name string) error {
	return l.Store.WithLibrary(ctx, ws, func(ctx context.Context, tx Tx) error { return l.unknown(ctx, tx, name) })
}

// nearest are the names most like name: by words, or by characters for a typing
// mistake.
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

// minNearest is the share of words or pairs that a suggestion has in common.
const minNearest = 0.3

// pairs is the share of neighbouring characters that two names have in common
// (Jaccard).
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
