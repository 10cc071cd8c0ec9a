package search_test

import (
	"slices"
	"testing"

	domainindex "cairn/internal/domain/index"
	"cairn/internal/service/search"
)

func TestADocumentKnowsItsWords(t *testing.T) {
	t.Parallel()
	d := domainindex.NewDoc(domainindex.KindTurn, 7, "active",
		"Did the boathouse open? The boathouse opened in May 2024?")
	if d.Kind != domainindex.KindTurn || d.Owner != 7 || d.Status != "active" || !d.Asks || !d.Dated {
		t.Errorf("the document is %+v", d)
	}
	if len(d.Terms) == 0 || len(d.Terms) != len(d.Weights) || !slices.IsSorted(d.Terms) {
		t.Errorf("terms %v with weights %v", d.Terms, d.Weights)
	}
	if plain := domainindex.NewDoc(domainindex.KindTurn, 7, "active", "The boathouse is open."); plain.Asks ||
		plain.Dated {
		t.Errorf("a plain statement is %+v", plain)
	}
	said := d.About("Otto Vogel")
	if said.Target != "Otto Vogel" || len(said.TargetTerms) != 2 || d.Target != "" {
		t.Errorf("of a speaker it is %+v", said)
	}
	if got := d.About(""); got.TargetTerms == nil || len(got.TargetTerms) != 0 {
		t.Errorf("without a target: %+v", got)
	}
}

func TestWordsAloneMakeAnAnswerWhenEnoughOfThemAreHeld(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hits, terms int
		want        bool
	}{
		{0, 0, false}, {0, 3, false}, {1, 1, true}, {1, 2, false}, {2, 2, true}, {2, 4, true}, {2, 5, false},
		{3, 5, true},
	} {
		if got := search.Relevant(domainindex.Hit{Hits: c.hits, Terms: c.terms}); got != c.want {
			t.Errorf("%d of %d words: %t", c.hits, c.terms, got)
		}
	}
}
