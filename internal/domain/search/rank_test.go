package search_test

import (
	"slices"
	"testing"
	"time"

	"cairn/internal/domain/lexical"
	"cairn/internal/domain/search"
)

var spring = time.Date(2026, 3, 20, 9, 0, 0, 0, time.UTC)

// document is a memory with the words of text.
func document(id int64, kind, text string) search.Document {
	d := search.Document{ID: id, Kind: "memory", Type: kind, Utility: 0.5, Terms: map[int32]float32{},
		EventTime: spring}
	terms := lexical.Terms(text)
	for _, t := range terms {
		d.Terms[t.Hash] = lexical.Weight(t.TF, lexical.Length(terms))
	}
	return d
}

func turn(id int64, seq int, text string) search.Document {
	d := document(id, "", text)
	d.Kind, d.Turn, d.Owner, d.Seq, d.Asks = "turn", true, 1, seq, lexical.Asks(text)
	return d
}

func query(text string) search.Query {
	q := search.Query{Now: spring}
	for _, t := range lexical.Terms(text) {
		q.Words = append(q.Words, search.Word{Term: t.Hash, DF: 3, IDF: 2})
	}
	return q
}

func ids(ranked []search.Scored) (out []int64) {
	for _, s := range ranked {
		out = append(out, s.ID)
	}
	return out
}

func TestAPersonalMemoryComesBeforeASummary(t *testing.T) {
	t.Parallel()
	documents := []search.Document{document(1, "summary", "Ben likes green tea and trains"),
		document(2, "personal", "Ben likes green tea in trains of the north")}
	got := ids(search.Rank(documents, query("What does Ben like?"), search.DefaultWeights()))
	if !slices.Equal(got, []int64{2, 1}) {
		t.Errorf("ranked %v", got)
	}
}

func TestAnUnrelatedQuestionFindsNothing(t *testing.T) {
	t.Parallel()
	documents := []search.Document{document(1, "personal", "Ben likes green tea"),
		document(2, "personal", "The boathouse opens at eight in the harbor")}
	if got := search.Rank(documents, query("quarterly tax return"), search.DefaultWeights()); len(got) != 0 {
		t.Errorf("found %+v", got)
	}
}

func TestTheAnswerAfterAQuestionIsFound(t *testing.T) {
	t.Parallel()
	documents := []search.Document{turn(1, 4, "Where did you buy the kayak?"),
		turn(2, 5, "At a garage sale, last week."),
		turn(3, 9, "My kayak leaks.")}
	got := ids(search.Rank(documents, query("where was the kayak bought"), search.DefaultWeights()))
	if !slices.Contains(got, 2) {
		t.Errorf("ranked %v", got)
	}
}

func TestNearDuplicatesAreOneResult(t *testing.T) {
	t.Parallel()
	older, newer, other := document(1, "personal", "Ada keeps bees on the roof of the old mill"),
		document(2, "personal", "Ada keeps bees on the roof of the old mill!"),
		document(3, "personal", "Ada keeps two dogs")
	newer.EventTime = spring.Add(time.Hour)
	elsewhere := older
	elsewhere.ID, elsewhere.Target = 4, "Bob"
	ranked := search.Rank([]search.Document{older, newer, other, elsewhere}, query("What does Ada keep?"),
		search.DefaultWeights())
	if got := ids(ranked); len(got) != 3 || !slices.Contains(got, 2) || slices.Contains(got, 1) {
		t.Fatalf("ranked %v", got)
	}
	at := slices.IndexFunc(ranked, func(s search.Scored) bool { return s.ID == 2 })
	if !slices.Equal(ranked[at].Also, []int64{1}) {
		t.Errorf("duplicates %v", ranked[at].Also)
	}
}

func TestRejectedDocumentsSupportOthersAndAreNoResults(t *testing.T) {
	t.Parallel()
	documents := []search.Document{turn(1, 4, "Where did you buy the kayak?"), turn(2, 5, "At a garage sale.")}
	documents[0].Rejected = true
	if got := ids(search.Rank(documents, query("kayak"), search.DefaultWeights())); !slices.Equal(got, []int64{2}) {
		t.Errorf("ranked %v", got)
	}
}

func TestAScoreIsTheSumOfItsParts(t *testing.T) {
	t.Parallel()
	q := query("what did Ada say on 20 March 2026 about bees")
	q.Date, _ = lexical.DateIn("20 March 2026")
	d := document(1, "personal", "Ada keeps bees")
	d.VectorRank, d.Cosine, d.Target, d.TargetTerms = 1, 0.9, "Ada", []int32{lexical.Terms("Ada")[0].Hash}
	got := search.Rank([]search.Document{d}, q, search.DefaultWeights())
	if len(got) != 1 {
		t.Fatalf("ranked %v", got)
	}
	p := got[0].Parts
	sum := p.Words + p.Vector + p.Session + p.Target + p.Date + p.When + p.Question + p.Recent + p.Utility
	if sum != got[0].Score || p.Date != 0.8 || p.Target != 0.4 || p.Words != 1 || p.Vector != 0.8 {
		t.Errorf("%+v, sum %f", got[0], sum)
	}
}

// What is said to a person that the query names is more likely to answer it than the same words in
// a conversation of others.
func TestAConversationOfTheNamedPersonComesFirst(t *testing.T) {
	t.Parallel()
	others, reply, ada := turn(1, 0, "The kite festival was on Sunday"), turn(2, 0, "The kite festival was on Sunday"),
		turn(3, 9, "I went there")
	reply.Owner, ada.Owner = 2, 2
	ada.TargetTerms = []int32{lexical.Terms("Ada")[0].Hash}
	got := ids(search.Rank([]search.Document{others, reply, ada}, query("When was Ada at the kite festival?"),
		search.DefaultWeights()))
	if len(got) < 2 || got[0] != 2 {
		t.Errorf("ranked %v", got)
	}
}
