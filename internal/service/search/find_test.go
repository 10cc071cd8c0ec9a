package search_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn/internal/domain/fault"
	domainindex "cairn/internal/domain/index"
	"cairn/internal/domain/memory"
	domainsearch "cairn/internal/domain/search"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/search"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestFindLooksIntoAllThatAWorkspaceKnows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fill()
	kinds := map[string]int{}
	found := b.finds(search.Request{Query: "boathouse"})
	for _, r := range found {
		kinds[r.Kind]++
	}
	if !slices.IsSortedFunc(found, func(a, b domainindex.Result) int { return cmp.Compare(b.Score, a.Score) }) {
		t.Errorf("a worse result comes before a better one: %+v", found)
	}
	if kinds[domainindex.KindSkill] != 1 || kinds[domainindex.KindMemory] != 1 || kinds[domainindex.KindTurn] != 2 {
		t.Errorf("found %v", kinds)
	}
	turns := []string{domainindex.KindTurn}
	for name, c := range map[string]struct {
		request search.Request
		want    int
	}{
		"one":                  {search.Request{Limit: 1}, 1},
		"turns":                {search.Request{Kinds: turns}, 2},
		"a conversation":       {search.Request{Conversation: "harbour"}, 2},
		"after":                {search.Request{Kinds: turns, After: spring.Add(time.Second)}, 1},
		"before":               {search.Request{Kinds: turns, Before: spring.Add(time.Second)}, 1},
		"another conversation": {search.Request{Conversation: "garden"}, 0},
	} {
		c.request.Query = "boathouse"
		if got := b.finds(c.request); len(got) != c.want {
			t.Errorf("%s: found %d, want %d", name, len(got), c.want)
		}
	}
	if got := b.finds(search.Request{Query: "quarterly tax return"}); len(got) != 0 {
		t.Errorf("an unrelated query finds %+v", got)
	}
	if found, err := b.Find(t.Context(), b.B.ID, search.Request{Query: "boathouse"}); err != nil || len(found) != 0 {
		t.Errorf("another workspace finds %+v, %v", found, err)
	}
}

// An exact name match comes first.
func TestFindKnowsExactNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fill()
	var remembered string
	testkit.Must(t, b.Admin.QueryRow(t.Context(), "select external_id from memories").Scan(&remembered))
	for query, kind := range map[string]string{
		"Open-Boathouse":                 domainindex.KindSkill,
		strings.ToUpper(remembered):      domainindex.KindMemory,
		domainindex.TurnID("harbour", 1): domainindex.KindTurn,
	} {
		if got := b.finds(search.Request{Query: query}); len(got) == 0 || got[0].Kind != kind || !got[0].Exact {
			t.Errorf("%q finds %+v", query, got)
		}
	}
}

func TestFindGoesByWordsWithoutAnEmbedder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fill()
	b.Finder.Embedder = away{}
	found := b.finds(search.Request{Query: "who paints the boathouse"})
	if len(found) == 0 || found[0].ID != "harbour#1" && found[0].ID != "harbour#0" || found[0].Cosine != 0 {
		t.Errorf("found %+v", found)
	}
}

func TestFindRefusesABadRequest(t *testing.T) {
	t.Parallel()
	asked := &index{}
	f := search.Finder{Index: asked, Embedder: away{}}
	for name, r := range map[string]search.Request{
		"nothing":      {},
		"no words":     {Query: "  "},
		"many words":   {Query: strings.Repeat("é", search.QueryRunes+1)},
		"low limit":    {Query: "x", Limit: -1},
		"high limit":   {Query: "x", Limit: search.MaxFound + 1},
		"low context":  {Query: "x", Context: -1},
		"high context": {Query: "x", Context: search.MaxContext + 1},
		"kind":         {Query: "x", Kinds: []string{"tune"}},
		"type":         {Query: "x", Types: []memory.Type{"mood"}},
		"equal times":  {Query: "x", After: spring, Before: spring},
		"parameter":    {Query: "x", Profile: domainsearch.Profile{WType: map[string]float64{"mood": 1}}},
		"times":        {Query: "x", After: spring, Before: spring.Add(-time.Second)},
	} {
		_, err := f.Find(t.Context(), 1, r)
		if fault.CodeOf(err) != fault.InvalidArgument || fault.From(err).Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(asked.names) > 0 {
		t.Errorf("the index was asked for %+v", asked.names)
	}
	edge := search.Request{Query: strings.Repeat("é", search.QueryRunes), Limit: search.MaxFound,
		Kinds: search.Kinds, Types: append(search.Types, ""), After: spring, Before: spring.Add(time.Second)}
	if _, err := f.Find(t.Context(), 1, edge); err != nil {
		t.Errorf("at its bounds: %v", err)
	}
}

func TestFindReadsTheNameThatAQueryMayBe(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]struct {
		conversation string
		seq          int
	}{
		"Deploy-Web":          {seq: -1},
		" harbour#12 ":        {conversation: "harbour", seq: 12},
		"a#b#3":               {conversation: "a#b", seq: 3},
		"#3":                  {seq: -1},
		"harbour#99999999999": {seq: -1},
	} {
		asked := &index{}
		f := search.Finder{Index: asked, Embedder: away{}, Space: 4, MinCosine: 0.3, VectorShare: 0.2}
		if _, err := f.Find(t.Context(), 1, search.Request{Query: query}); err != nil || len(asked.names) != 1 {
			t.Errorf("%q: %v, asked for %v", query, err, asked.names)
			continue
		}
		if n := asked.names[0]; n.Conversation != want.conversation || n.Seq != want.seq ||
			n.Memory != strings.ToLower(strings.TrimSpace(query)) {
			t.Errorf("%q names %+v, want %+v", query, n, want)
		}
		if len(asked.near) > 0 {
			t.Errorf("%q is searched by vector without a vector", query)
		}
	}
}

func TestFindPassesOnWhatTheIndexSays(t *testing.T) {
	t.Parallel()
	f := search.Finder{Index: &index{err: errAway}, Embedder: away{}}
	if _, err := f.Find(t.Context(), 1, search.Request{Query: "x"}); !errors.Is(err, errAway) {
		t.Errorf("Find gives %v", err)
	}
	if _, err := f.Skills(t.Context(), 1, "x", 3); !errors.Is(err, errAway) {
		t.Errorf("Skills gives %v", err)
	}
	f.Index = &index{named: make([]int64, 12)}
	if found, err := f.Find(t.Context(), 1, search.Request{Query: "x"}); err != nil || len(found) != 10 {
		t.Errorf("of 12 documents there come %d, %v", len(found), err)
	}
}

func TestFindShowsTheTurnsAroundATurn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fill()
	later := transcript.Conversation{ID: "weather", Messages: []transcript.Message{
		{Seq: 0, Role: transcript.User, Content: "Is it windy?", Time: spring},
		{Seq: 1, Role: transcript.Assistant, Content: "It blows from the west.", Time: spring},
		{Seq: 2, Role: transcript.User, Content: "Then I take the spinnaker.", Time: spring},
		{Seq: 3, Role: transcript.Tool, Content: "no gusts", Time: spring},
		{Seq: 4, Role: transcript.Assistant, Content: "Take the small one.", Time: spring},
		{Seq: 5, Role: transcript.User, Content: "Good morning.", Time: spring.Add(48 * time.Hour)}}}
	testkit.Must(t, b.InWorkspace(t.Context(), b.A.ID, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Transcripts().PutConversation(ctx, later, "import")
		return err
	}))
	for n, want := range map[int][]string{0: nil, 1: {"weather#1", "weather#4"},
		search.MaxContext: {"weather#0", "weather#1", "weather#4"}} {
		got := b.finds(search.Request{Query: "spinnaker", Limit: 1, Context: n})
		if len(got) != 1 || got[0].ID != "weather#2" || !slices.Equal(ids(got[0].Context), want) {
			t.Errorf("context %d: found %+v, want %v around weather#2", n, got, want)
		}
	}
	if got := b.finds(search.Request{Query: "open-boathouse", Context: 1}); got[0].Context != nil {
		t.Errorf("a skill has the context %+v", got[0].Context)
	}
}

func ids(results []domainindex.Result) (out []string) {
	for _, r := range results {
		out = append(out, r.ID)
	}
	return out
}

// A literal question comes before the turns around it, which contain none of its words.
func TestFindRanksALiteralQuestionFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	trip := transcript.Conversation{ID: "trip", Messages: []transcript.Message{
		{Seq: 0, Role: transcript.User, Content: "I am in Lisbon.", Time: spring},
		{Seq: 1, Role: transcript.Assistant, Content: "That is a lovely city.", Time: spring},
		{Seq: 2, Role: transcript.User, Content: "Which train goes to Porto?", Time: spring},
		{Seq: 3, Role: transcript.Assistant, Content: "The one at noon.", Time: spring}}}
	testkit.Must(t, b.InWorkspace(t.Context(), b.A.ID, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Transcripts().PutConversation(ctx, trip, "import")
		return err
	}))
	if got := b.finds(search.Request{Query: "Which train goes to Porto"}); len(got) == 0 || got[0].ID != "trip#2" {
		t.Errorf("found %v", ids(got))
	}
}
