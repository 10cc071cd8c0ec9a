package search

import (
	"slices"
)

// maxCompared is how many of the best documents are compared with each other.
const maxCompared = 50

// collapse joins the memories with nearly the same words into the newest of them. Turns stay: the
// same words at another place of a conversation are another event.
func collapse(ranked []Scored, all []candidate, w Weights) []Scored {
	byID := make(map[int64]candidate, len(all))
	for _, c := range all {
		byID[c.ID] = c
	}
	var out []Scored
	for at, s := range ranked {
		c := byID[s.ID]
		same := -1
		if at < maxCompared && !c.Turn {
			same = slices.IndexFunc(out, func(o Scored) bool {
				other := byID[o.ID]
				return !other.Turn && other.Kind == c.Kind && other.Target == c.Target &&
					jaccard(other.Terms, c.Terms) >= w.Duplicate
			})
		}
		if same < 0 {
			out = append(out, s)
			continue
		}
		best := &out[same]
		if c.EventTime.After(byID[best.ID].EventTime) {
			also := append([]int64{best.ID}, best.Also...)
			best.ID, best.Also = s.ID, also
		} else {
			best.Also = append(best.Also, s.ID)
		}
	}
	return out
}

// jaccard is the share of the words of both that both have.
func jaccard(a, b map[int32]float32) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	common := 0
	for term := range a {
		if _, held := b[term]; held {
			common++
		}
	}
	return float64(common) / float64(len(a)+len(b)-common)
}

// diversify orders the best documents by maximal marginal relevance: each next one has the highest
// lambda·score - (1-lambda)·(its highest similarity to those before it), with scores relative to the
// best. A lambda of 1 changes nothing.
func diversify(ranked []Scored, all []candidate, lambda float64) []Scored {
	if lambda >= 1 || len(ranked) < 3 || ranked[0].Score <= 0 {
		return ranked
	}
	terms := make(map[int64]map[int32]float32, len(all))
	for _, c := range all {
		terms[c.ID] = c.Terms
	}
	n := min(maxCompared, len(ranked))
	left, out := slices.Clone(ranked[:n]), make([]Scored, 0, len(ranked))
	similar := make([]float64, n) // highest similarity to a chosen document
	peak := ranked[0].Score
	for len(left) > 0 {
		best, value := 0, 0.0
		for i, s := range left {
			if v := lambda*s.Score/peak - (1-lambda)*similar[i]; i == 0 || v > value {
				best, value = i, v
			}
		}
		chosen := left[best]
		out = append(out, chosen)
		left, similar = slices.Delete(left, best, best+1), slices.Delete(similar, best, best+1)
		for i, s := range left {
			similar[i] = max(similar[i], jaccard(terms[chosen.ID], terms[s.ID]))
		}
	}
	return append(out, ranked[n:]...)
}
