package library

import (
	"cmp"
	"context"
	"slices"

	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/skill"
)

// SimilarPair is a pair of similar skills.
type SimilarPair struct {
	One        string  `json:"one"`
	Other      string  `json:"other"`
	Similarity float64 `json:"similarity" doc:"Share of common words in the names, or cosine similarity of the descriptions; 1 for equal bodies"`
	By         string  `json:"by" enum:"body,name,meaning"`
}

const (
	curateNearCosine = 0.90 // cosine similarity of descriptions with the same meaning
	maxPairs         = 50   // limit of pairs in a report
)

// similar compares every pair of skills; a workspace has a few hundred. Without the embedder, only
// bodies and names are compared.
func (s *Curator) similar(ctx context.Context, skills []readmodel.CuratedSkill) []SimilarPair {
	out := []SimilarPair{} // encodes as [], not null
	texts := make([]string, len(skills))
	for i, k := range skills {
		texts[i] = k.Description
	}
	var vectors [][]float32
	if s.Embedder != nil && len(texts) > 1 {
		if got, err := s.Embedder.Embed(ctx, texts); err == nil && len(got) == len(texts) {
			vectors = got
		}
	}
	for i, a := range skills {
		for j := range i {
			if p, near := compare(skills[j], a); near {
				out = append(out, p)
			} else if vectors != nil {
				if c := cosine(vectors[i], vectors[j]); c >= curateNearCosine {
					out = append(out, SimilarPair{skills[j].Name, a.Name, c, "meaning"})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b SimilarPair) int {
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.One, b.One))
	})
	return out[:min(len(out), maxPairs)]
}

func compare(a, b readmodel.CuratedSkill) (SimilarPair, bool) {
	if a.BodySHA != "" && a.BodySHA == b.BodySHA {
		return SimilarPair{a.Name, b.Name, 1, "body"}, true
	}
	if s := skill.NameSimilarity(a.Name, b.Name); s >= skill.MinNameSimilarity {
		return SimilarPair{a.Name, b.Name, s, "name"}, true
	}
	return SimilarPair{}, false
}

func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
