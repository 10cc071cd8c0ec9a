package search_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/search"
)

func profile(t *testing.T, text string) search.Profile {
	t.Helper()
	var p search.Profile
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAProfileChangesOnlyWhatItNames(t *testing.T) {
	t.Parallel()
	p := profile(t, `{"rrf_k": 60, "w_type": {"note": 0.5}, "neighbors": [0.1, 0.2, 0.3, 0.4], "work": 5000}`)
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	want := search.DefaultWeights()
	want.RRF, want.Work, want.Types["note"] = 60, 5000, 0.5
	want.Next, want.Previous, want.SecondNext, want.SecondPrevious = 0.1, 0.2, 0.3, 0.4
	if got := p.Apply(search.DefaultWeights()); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if _, changed := search.DefaultWeights().Types["note"]; changed {
		t.Error("the profile changed the defaults")
	}
	if got := search.ProfileOf(want).Apply(search.Weights{Types: map[string]float64{}, Discussed: want.Discussed,
		When: want.When, Question: want.Question, Alone: want.Alone}); !reflect.DeepEqual(got, want) {
		t.Errorf("the profile of all parameters gives %+v, want %+v", got, want)
	}
}

func TestAProfileOutOfRangeIsRefusedByName(t *testing.T) {
	t.Parallel()
	for text, name := range map[string]string{
		`{"rrf_k": 0}`:                 "search.rrf_k is 0",
		`{"floor_cover": 1.5}`:         "search.floor_cover is 1.5",
		`{"candidates": 5}`:            "search.candidates is 5",
		`{"timeout_ms": 100000}`:       "search.timeout_ms is 100000",
		`{"fusion": "best"}`:           `search.fusion is "best"`,
		`{"neighbors": [0.1]}`:         "search.neighbors has 1 numbers",
		`{"neighbors": [0, 0, 0, 2]}`:  "search.neighbors is 2",
		`{"w_type": {"dream": 1}}`:     `unknown memory type "dream"`,
		`{"w_type": {"summary": -1}}`:  "search.w_type.summary is -1",
		`{"mmr_lambda": -0.1}`:         "search.mmr_lambda is -0.1",
		`{"dup_jaccard": 0.1}`:         "search.dup_jaccard is 0.1",
		`{"w_vector": 11, "rrf_k": 7}`: "search.w_vector is 11",
	} {
		if err := profile(t, text).Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWeightedFusionUsesScores(t *testing.T) {
	t.Parallel()
	documents := []search.Document{document(1, "personal", "Ben rows a red kayak"),
		document(2, "personal", "Ben rows a red kayak on the lake of the north")}
	documents[1].VectorRank, documents[1].Cosine = 1, 0.9
	documents[0].VectorRank, documents[0].Cosine = 2, 0.1
	w := profile(t, `{"fusion": "weighted", "w_vector": 5}`).Apply(search.DefaultWeights())
	got := search.Rank(documents, query("red kayak"), w)
	if !slices.Equal(ids(got), []int64{2, 1}) || got[0].Parts.Vector != 5 {
		t.Errorf("ranked %+v", got)
	}
}

func TestDiversityMovesNearlyEqualResultsDown(t *testing.T) {
	t.Parallel()
	documents := []search.Document{document(1, "personal", "red kayak on the lake at noon"),
		document(2, "personal", "red kayak on the lake at night"),
		document(3, "personal", "kayak club pays for repairs")}
	if got := ids(search.Rank(documents, query("red kayak"), search.DefaultWeights())); !slices.Equal(got,
		[]int64{1, 2, 3}) {
		t.Fatalf("without: %v", got)
	}
	w := profile(t, `{"mmr_lambda": 0.3}`).Apply(search.DefaultWeights())
	if got := ids(search.Rank(documents, query("red kayak"), w)); !slices.Equal(got, []int64{1, 3, 2}) {
		t.Errorf("with: %v", got)
	}
}

func TestOfEqualScoresTheNewerComesFirst(t *testing.T) {
	t.Parallel()
	old, recent := document(1, "personal", "the kayak is red"), document(2, "tool", "Eve lent her kayak")
	old.EventTime, recent.EventTime = spring.AddDate(0, -1, 0), spring
	p := profile(t, `{"w_recent": 0, "w_type": {"tool": 1}, "w_lexical": 0, "w_session": 0}`)
	w := p.Apply(search.DefaultWeights())
	if got := ids(search.Rank([]search.Document{old, recent}, query("kayak"), w)); !slices.Equal(got, []int64{2, 1}) {
		t.Errorf("ranked %v", got)
	}
}
