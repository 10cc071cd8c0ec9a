// Package search searches a workspace: turns, memories and skills are indexed as documents and
// ranked by BM25 and by vector distance. Reciprocal rank fusion joins both rankings.
package search

import (
	"cairn/internal/domain/index"
	"cairn/internal/domain/memory"
)

type memoryType = memory.Type

// relevantShare is the minimum share of discriminating query terms for a match by words alone.
const relevantShare = 0.5

// Relevant reports whether h matches by words alone. Without this check, an unrelated query returns
// its best-ranked document.
func Relevant(h index.Hit) bool {
	return h.Hits > 0 && float64(h.Hits) >= relevantShare*float64(h.Terms) && (h.Hits > 1 || h.Terms == 1)
}
