package memory

import (
	"slices"

	"cairn/internal/domain/lexical"
	"cairn/internal/domain/memory"
)

const (
	// mem0Facts is the metadata member that stores the fields that only mem0 clients know.
	mem0Facts = "mem0"
	// categoriesMember is the metadata member in which models name the categories of a memory, and, within
	// mem0Facts, the member that stores them.
	categoriesMember = "categories"

	maxCategories = 3   // of a memory, if no model has named them
	minCategory   = 0.4 // lowest cosine of a memory and a category, if they share no word
	categoryShare = 0.6 // of the best score, below which another category does not fit
	sharedWord    = 0.5 // score of a word that a memory and a category share
)

// categorize sets the categories of a new entry: those that its model has named, else those whose name and
// description are closest to its content.
func (g *writing) categorize(e *memory.Entry) {
	if len(g.a.Subject.Categories) == 0 {
		return
	}
	named, found := e.Metadata[categoriesMember].([]any)
	chosen := g.known(named)
	if len(chosen) == 0 {
		chosen = g.closest(*e)
	}
	if found && len(g.known(named)) == len(named) { // they are no metadata of the caller
		delete(e.Metadata, categoriesMember)
	}
	held, _ := e.Metadata[mem0Facts].(map[string]any)
	facts := memory.Metadata{}.With(held)
	facts[categoriesMember] = append([]string{}, chosen...)
	if with := e.Metadata.With(memory.Metadata{mem0Facts: map[string]any(facts)}); with.Check() == nil {
		e.Metadata = with
	}
}

// known returns the names of a model that are categories.
func (g *writing) known(names []any) (out []string) {
	for _, c := range g.a.Subject.Categories {
		if slices.Contains(names, any(c.Name)) {
			out = append(out, c.Name)
		}
	}
	return out
}

// closest returns the categories with the highest scores, the best first.
func (g *writing) closest(e memory.Entry) (out []string) {
	type scored struct {
		name  string
		score float64
	}
	var fitting []scored
	words := hashesOf(e.Content)
	text, _ := e.Embedded()
	for _, c := range g.a.Subject.Categories {
		score := 0.0
		for _, word := range hashesOf(c.Text()) {
			if slices.Contains(words, word) {
				score += sharedWord
			}
		}
		near := dot(g.w.Vectors[text], g.w.Vectors[c.Text()])
		if score > 0 || near >= minCategory {
			fitting = append(fitting, scored{c.Name, score + max(near, 0)})
		}
	}
	slices.SortStableFunc(fitting, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	for _, f := range fitting {
		if len(out) < maxCategories && f.score >= categoryShare*fitting[0].score {
			out = append(out, f.name)
		}
	}
	return out
}

func hashesOf(text string) (out []int32) {
	for _, t := range lexical.Terms(text) {
		out = append(out, t.Hash)
	}
	return out
}

// dot is the cosine of two vectors of length 1; 0 without both.
func dot(a, b []float32) (sum float64) {
	if len(a) != len(b) {
		return 0
	}
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
