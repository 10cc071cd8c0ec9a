package designer_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"cairn/internal/domain/memoryskill/designer"
	"cairn/internal/domain/memoryskill/keyedrand"
)

// groups returns points around k corners that are far apart.
func groups(k, each int) [][]float64 {
	stream := keyedrand.Key{Purpose: "groups"}.Stream()
	var points [][]float64
	for i := range k * each {
		p := make([]float64, k)
		for j := range p {
			p[j] = 0.3 * stream.Normal()
		}
		p[i%k] += 10
		points = append(points, p)
	}
	return points
}

func TestClusterFindsWhatLiesTogether(t *testing.T) {
	t.Parallel()
	points := groups(5, 12)
	got := designer.Cluster(points, 5, "42")
	for i, c := range got {
		if c != i%5 {
			t.Fatalf("point %d of group %d is in cluster %d: %v", i, i%5, c, got)
		}
	}
	if again := designer.Cluster(points, 5, "42"); !slices.Equal(got, again) {
		t.Error("the second clustering differs")
	}
	same := slices.Repeat([][]float64{{1, 2}}, 9)
	if got := designer.Cluster(same, 3, "42"); slices.Max(got) != 0 {
		t.Errorf("equal points are in clusters %v", got)
	}
	if got := designer.Cluster(points[:3], 5, "42"); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("three points in five clusters: %v", got)
	}
	if got := designer.Cluster(points, 0, "42"); slices.Max(got) != 0 || len(got) != len(points) {
		t.Errorf("no clusters: %v", got)
	}
	if got := designer.Cluster(nil, 5, "42"); len(got) != 0 {
		t.Errorf("no points: %v", got)
	}
}

func TestMineTakesTheHardestOfEachCluster(t *testing.T) {
	t.Parallel()
	points := groups(5, 8)
	var cases []designer.Case
	vectors := map[string][]float64{}
	for i, p := range points {
		c := designer.Case{QueryID: fmt.Sprintf("q%02d", i), Question: fmt.Sprintf("question %d", i), Failures: 1 + i}
		if i%5 == 4 && i > 4 {
			continue // the fifth cluster has one case
		}
		cases, vectors[c.QueryID] = append(cases, c), p
	}
	got, err := designer.Mine(cases, vectors, designer.DefaultMining())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range got {
		ids = append(ids, r.QueryID)
	}
	// Three of each of four clusters, one of the fifth, then the hardest left.
	want := []string{"q35", "q30", "q25", "q36", "q31", "q26", "q37", "q32", "q27", "q38", "q33", "q28", "q04", "q23",
		"q22"}
	if !slices.Equal(ids, want) {
		t.Errorf("%v, want %v", ids, want)
	}
	slices.Reverse(cases)
	if again, err := designer.Mine(cases, vectors, designer.DefaultMining()); err != nil ||
		!reflect.DeepEqual(again, got) {
		t.Errorf("the order of the cases matters: %v", err)
	}
	adaptive := designer.DefaultMining()
	adaptive.Adaptive = true // four cases: ⌈√2⌉ clusters
	if few, err := designer.Mine(cases[:4], vectors, adaptive); err != nil || few[len(few)-1].Cluster > 1 {
		t.Errorf("%+v %v", few, err)
	}
}

func TestMineTakesAQuestionOnce(t *testing.T) {
	t.Parallel()
	cases := []designer.Case{
		{QueryID: "a", Question: "Where is  Ann?", Failures: 1}, {QueryID: "b", Question: "where is ann?", Failures: 3},
		{QueryID: "c", Question: "Who?", Failures: 1},
	}
	vectors := map[string][]float64{"a": {0}, "b": {0}, "c": {1}}
	got, err := designer.Mine(cases, vectors, designer.DefaultMining())
	if err != nil || len(got) != 2 || got[0].QueryID != "b" || got[1].QueryID != "c" {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := designer.Mine(cases, map[string][]float64{"b": {0}}, designer.DefaultMining()); err == nil {
		t.Error("a case without a vector was mined")
	}
	if got, err := designer.Mine(nil, nil, designer.DefaultMining()); err != nil || len(got) != 0 {
		t.Errorf("nothing: %v %v", got, err)
	}
}

func TestLabelTellsWhichStepLostTheAnswer(t *testing.T) {
	t.Parallel()
	c := designer.Case{Question: "When did Caroline go to the support group?", Gold: []string{"7 May 2023"},
		Evidence: []string{"I went to a LGBTQ support group yesterday and it was so powerful"}}
	memory := "Caroline attended a support group on 7 May 2023"
	said := "Caroline said: I went to a LGBTQ support group yesterday and it was so powerful."
	other := "Caroline likes pottery"
	for _, s := range []struct {
		name      string
		retrieved []string
		view      designer.View
		want      designer.Mechanism
	}{
		{"in view", []string{other, memory}, designer.View{Bank: []string{memory}, Trace: []string{said}},
			designer.Quality},
		{"not found", []string{other}, designer.View{Bank: []string{other, memory}, Trace: []string{said}},
			designer.Retrieval},
		{"not stored", []string{other}, designer.View{Bank: []string{other}, Trace: []string{said}}, designer.Storage},
		{"never said", []string{other}, designer.View{Bank: []string{other}, Trace: []string{other}},
			designer.Unanswerable},
	} {
		c.Retrieved = s.retrieved
		if got := designer.Label(c, s.view); got != s.want {
			t.Errorf("%s: %s, want %s", s.name, got, s.want)
		}
	}
	parts := designer.Case{Gold: []string{"pottery, camping"},
		Retrieved: []string{"She likes pottery", "They went camping"}}
	if got := designer.Label(parts, designer.View{}); got != designer.Quality {
		t.Errorf("an answer in two memories: %s", got)
	}
	parts.Retrieved = parts.Retrieved[:1]
	if got := designer.Label(parts, designer.View{}); got == designer.Quality {
		t.Errorf("half of the answer: %s", got)
	}
}
