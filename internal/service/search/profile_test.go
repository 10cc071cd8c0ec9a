package search_test

import (
	"slices"
	"strings"
	"testing"

	"cairn/internal/domain/fault"
	"cairn/internal/service/search"
)

func TestParametersAreReadFromText(t *testing.T) {
	t.Parallel()
	p, err := search.ParseProfile([]string{"rrf_k=60", "w_type.summary=1", "w_type.note=0.5", "fusion=weighted",
		"neighbors=[0.1,0.2,0.3,0.4]"})
	if err != nil {
		t.Fatal(err)
	}
	if *p.RRFK != 60 || p.WType["summary"] != 1 || p.WType["note"] != 0.5 || *p.Fusion != "weighted" ||
		!slices.Equal(p.Neighbors, []float64{0.1, 0.2, 0.3, 0.4}) {
		t.Errorf("read %+v", p)
	}
	for text, says := range map[string]string{"rrf_k": `"rrf_k"`, "=1": `"=1"`, "rrf_k=": `"rrf_k="`,
		"speed=9": "speed", "rrf_k=high": "rrf_k", "rrf_k=-1": "rrf_k", "work=1.5": "work", "w_type.dream=1": "dream"} {
		_, err := search.ParseProfile([]string{text})
		if fault.CodeOf(err) != fault.InvalidArgument || !strings.Contains(err.Error(), says) ||
			fault.From(err).Hint == "" {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestASearchSaysThatTheEmbedderIsAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.fill()
	b.Finder.Embedder = away{}
	out, err := b.Search(t.Context(), b.A.ID, search.Request{Query: "who paints the boathouse"})
	if err != nil || out.Vector != search.VectorUnavailable || len(out.Results) == 0 {
		t.Errorf("%+v, %v", out, err)
	}
}
